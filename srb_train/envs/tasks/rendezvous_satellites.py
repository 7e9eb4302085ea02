"""The two satellites of rendezvous: what they weigh, how they push, and what counts as docking.

Chaser: a 6U CubeSat of 11.9 kg without propellant (12 kg is the limit of the CubeSat Design
Specification, rev. 14), 0.5 N along each axis both ways, cold gas with a specific impulse of 60 s
(nitrogen; 50 to 75 s is usual), 80 to 120 g of it: 4 to 6 m/s. These are assumed values of the
usual size, not one maker's.
"""

DRY_MASS = 11.9  # kg
THRUST = 0.5  # N along each axis
IMPULSE = 60.0  # s
STANDARD_GRAVITY = 9.80665  # m/s^2, the one in specific impulse
FLOW = THRUST / (IMPULSE * STANDARD_GRAVITY)  # kg/s of one axis at full thrust
FULL_TANK = 0.12  # kg

PORT = 1.0  # m from the target's centre, along the track
HULL = 0.8  # m, radius of the sphere about the target's centre that must not be entered
CAPTURE_REACH = 0.2  # m between probe and port at which they touch
CAPTURE_SPEED = 0.05  # m/s below which the port holds; the IDSS standard closes at 0.05 to 0.1
