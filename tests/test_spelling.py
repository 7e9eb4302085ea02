"""A misspelt word is answered with what it may have meant, whatever its case."""

from srb_train import spelling


def test_the_nearest_known_word_is_named_as_it_is_written():
    assert spelling.nearest("reluu", ["Tanh", "ReLU"]) == " (nearest: ReLU)"
    assert spelling.nearest("LANDNIG", ["landing", "cartpole"]) == " (nearest: landing)"


def test_several_near_words_are_named_best_first():
    near = spelling.nearest("sb3_pp", ["sbx_ppo", "toy_cem", "sb3_ppo"], most=2)
    assert near == " (nearest: sb3_ppo, sbx_ppo)"


def test_a_word_that_resembles_none_gets_no_advice():
    assert spelling.nearest("zzz", ["landing", "cartpole"]) == ""
    assert spelling.nearest("landing", []) == ""


def test_a_refused_setting_says_what_there_is():
    error = spelling.not_one_of("agent.activation", "rellu", ["relu", "elu"])
    assert str(error) == "agent.activation='rellu' is not one of relu, elu (nearest: relu)"
