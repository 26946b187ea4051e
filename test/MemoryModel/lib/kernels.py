"""An emitted kernel's threads as events, and the question what happens without one of its
instructions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import ptx_order
from events import Event, Place, Program
from model import Model, Rules
from proxies import READINGS
from threads import Thread
from traces import Step, Tracer, is_shared


@dataclass(frozen=True)
class Change:
    """What becomes of the instructions of some lines: nothing, or others; and what is added behind
    some."""

    lines: tuple[int, ...] = ()
    old: str = ""
    new: str = ""  # instead of `old`; with no `old` the instruction is left out
    behind: tuple[int, ...] = ()
    added: str = ""

    def of(self, step: Step) -> str:
        text = step.text
        if step.line in self.lines:
            text = text.replace(self.old, self.new) if self.old else ""
        return text + self.added if step.line in self.behind else text


AS_EMITTED = Change()


def trace(ptx: Path, walks: list[int]) -> Tracer:
    """One block's run over items of so many steps, all of which begin at q tile 0."""
    ptx_order.Machine = Tracer
    manifest = json.loads(ptx.with_suffix(".json").read_text(encoding="utf-8"))
    return ptx_order.run(ptx.read_text(encoding="utf-8"), manifest, walks)


def replay(
    thread: Thread,
    steps: Iterable[Step],
    names: dict[int, Place],
    tracer: Tracer,
    change: Change = AS_EMITTED,
) -> None:
    """Runs steps of the machine as a thread of the model. `names` has the bytes that matter; all
    other places are private, as if no other kernel used them. One byte stands for a tile: all bytes
    of it go the same way."""
    for step in steps:
        key = (thread.block, tracer.barrier_of(step), step.phase) if step.phase >= 0 else None
        for text in filter(None, change.of(step).split(";")):
            before = len(thread.program.events)
            thread.run(
                text,
                lambda operand, step=step: places_of(operand, step, names, thread),
                step.line,
                key,
            )
            if step.seen is not None:  # the loop around it ends
                read = next(
                    event for event in thread.program.events[before:] if event.kind == "read"
                )
                thread.program.required.append(read.value == step.seen)


def places_of(operand: str, step: Step, names: dict[int, Place], thread: Thread) -> list[Place]:
    """The places of an operand, at least one; of "descriptors" those that a product reads, if
    any."""
    if operand == "descriptors":
        return [
            place
            for begin, end, _ in step.accesses
            for at, place in names.items()
            if begin <= at < end
        ]
    begin = step.addresses.get(operand, -1)
    end = max([end for first, end, _ in step.accesses if first == begin], default=begin + 1)
    named = [place for at, place in names.items() if begin <= at < end]
    return named or [Place(f"{thread.name} {operand}", "shared" if is_shared(begin) else "global")]


@dataclass
class Answer:
    """Whether something wrong can happen, by each reading of proxy fences."""

    verdicts: list[str]
    execution: str = ""

    @property
    def is_proven(self) -> bool:
        return all(verdict == "proven" for verdict in self.verdicts)


def ask(
    build: Callable[[Change], Program],
    wrong: Callable[[Model], object],
    change: Change = AS_EMITTED,
    describe: Callable[[Model], str] = lambda model: "",
    rules: Rules = Rules(),
) -> Answer:
    """Asks whether something is wrong in some execution; `describe` tells of the first."""
    answer = Answer([])
    program = build(change)
    for reading in READINGS:
        model = Model(program, replace(rules, reading=reading))
        if model.allows(wrong(model)) is not None:
            answer.verdicts.append("wrong")
            answer.execution = answer.execution or describe(model)
        else:
            answer.verdicts.append("proven" if model.allows() is not None else "waits for ever")
    return answer


def value_of(execution, event: Event):
    return (
        event.value
        if isinstance(event.value, int)
        else execution.eval(event.value, model_completion=True)
    )


def print_table(title: str, rows: list[tuple[str, str, Answer]]) -> None:
    words = {"proven": "as before", "wrong": "goes wrong", "waits for ever": "waits for ever"}
    print(f"{title:<50}{'instead':<18}then")
    for step, instead, answer in rows:
        verdicts = [words[verdict] for verdict in answer.verdicts]
        text = (
            verdicts[0]
            if len(set(verdicts)) == 1
            else f"{verdicts[0]}; by {READINGS[1]}: {verdicts[1]}"
        )
        print(f"  {step:<48}{instead:<18}{text}")
