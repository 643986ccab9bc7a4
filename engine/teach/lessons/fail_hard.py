"""Fail-hard against fail-soft: what a node returns when its value lies outside its window."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.four_level_tree import TREE
from engine.teach.lessons.lesson import Lesson, Run

LESSON = Lesson(
    title="Fail-hard and fail-soft",
    page="""Two forms of alpha-beta visit the same {hard.nodes} nodes of this tree, but a
node returns something else. Fail-soft returns the best value found, even outside the
window: I = {soft[I]}, D = {soft[D]}, E = {soft[E]}, B = {soft[B]}. Fail-hard returns its
alpha (MAX) or beta (MIN): I = {hard[I]}, D = {hard[D]}, E = {hard[E]}, B = {hard[B]}.""",
    look_for=("Fail-soft returns more: E is {soft[E]} at most, which a table of states can use.",),
    runs=(
        Run("Fail-hard", TREE, Plan("fail-hard"), "hard"),
        Run("Fail-soft", TREE, Plan("fail-soft"), "soft", "none"),
    ),
    compares=(0, 1),
)
