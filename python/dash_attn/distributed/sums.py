"""The f32 sums of dK and dV that a rank has, by nodes of the tree, and the folds that make them
less."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

import torch

from .leaves import LeafSums
from .plan import DK, DV, SUMS, Fold, Message, Plan
from .problem import Leaf
from .rows import Piece, Rows
from .tree import Node, fold, root_of, rounded

Key = tuple[int, int, Node]  # document, kv head, node


class Part(NamedTuple):
    """Rows [first, end) of a node: [2, rows, head_dim], of dK and of dV."""

    first: int
    end: int
    values: torch.Tensor


class Sums:
    def __init__(self, plan: Plan, rows: Rows, scale: float) -> None:
        self.plan, self.rows, self.scale = plan, rows, scale
        self._parts: dict[Key, list[Part]] = defaultdict(list)
        # Parts that are folded on the stream of exchanges, but were allocated on another: freed at
        # once, their memory would be given to what that one launches next, while it is still read
        # here.
        self._held: list[Part] | None = None

    def hold(self) -> None:
        """From here on parts that folds are done with stay until the pass ends, behind an event
        that its own stream waits for."""
        self._held = []

    def add(self, document: int, head: int, node: Node, part: Part) -> None:
        self._parts[document, head, node].append(part)

    def add_received(self, buffer: torch.Tensor, messages: list[Message]) -> None:
        for message in messages:
            for tensor, values in self.rows.form.views(buffer, message.receive_offset, message):
                if tensor == SUMS:
                    for head in range(message.heads):
                        self.add(
                            message.document,
                            message.head + head,
                            Node(message.level, message.index),
                            Part(message.first, message.end, values[:, head]),
                        )

    def read(self, document: int, head: int, node: Node, first: int, end: int) -> torch.Tensor:
        """Rows of a node: where one part has them a view of it."""
        found, count = None, 0
        for part in self._parts[document, head, node]:
            begin, stop = max(first, part.first), min(end, part.end)
            if begin >= stop:
                continue
            values = part.values[:, begin - part.first : stop - part.first]
            if stop - begin == end - first:
                return values
            found = (
                torch.empty(
                    (2, end - first, values.shape[2]), dtype=torch.float32, device=values.device
                )
                if found is None
                else found
            )
            found[:, begin - first : stop - first] = values
            count += stop - begin
        if found is None or count != end - first:
            raise AssertionError(
                f"sums of {node} of document {document}, kv head {head}: expected rows {first} to"
                f" {end}, found {count}"
            )
        return found

    def pack(self, buffer: torch.Tensor, message: Message) -> None:
        ((_, values),) = self.rows.form.views(buffer, message.send_offset, message)
        for head in range(message.heads):
            values[:, head] = self.read(
                message.document,
                message.head + head,
                Node(message.level, message.index),
                message.first,
                message.end,
            )

    def make(self, one: Fold) -> None:
        for head in range(one.head, one.head + one.heads):
            self._make(one.document, head, Node(one.level, one.index), one.first, one.end)

    def _make(self, document: int, head: int, node: Node, first: int, end: int) -> None:
        leaves = self.plan.leaves.of(document)
        children = node.left, node.right(len(leaves))
        # rows of a child are fewer
        ends = [
            max(first, min(end, leaves[child.end_leaf(len(leaves)) - 1][1])) for child in children
        ]
        right = self.read(document, head, children[1], first, ends[1])
        if first < ends[0]:
            right = fold(self.read(document, head, children[0], first, ends[0]), right)
        self.add(document, head, node, Part(first, end, right))
        for child in children:  # these rows are not asked for again
            kept = [
                part
                for part in self._parts[document, head, child]
                if not first <= part.first < part.end <= end
            ]
            if self._held is not None:
                self._held += self._parts[document, head, child]
            if kept:
                self._parts[document, head, child] = kept
            else:
                del self._parts[document, head, child]

    def has(self, document: int, head: int, node: Node) -> bool:
        return bool(self._parts.get((document, head, node)))

    def taken(self, document: int, head: int, node: Node) -> torch.Tensor | None:
        """All rows of a node that this rank has made by itself; they are asked for once."""
        if not self.has(document, head, node):
            return None
        ((_, _, values),) = self._parts.pop((document, head, node))
        return values

    def round_roots(self) -> None:
        """Sums that are complete become dK and dV."""
        for document, head, node in list(self._parts):
            if node == root_of(len(self.plan.leaves.of(document))):
                parts = self._parts.pop((document, head, node))
                for part in parts:
                    add_rounded(self.rows, document, head, part, self.scale)
                if self._held is not None:
                    self._held += parts


def add_rounded(rows: Rows, document: int, head: int, part: Part, scale: float) -> None:
    for tensor, values in zip((DK, DV), rounded(part.values, scale, rows.form.dtype)):
        rows.add(tensor, document, Piece(head, 1, part.first, part.end, values[None, None]))


class ServerFolds:
    """Folds of nodes of which a rank computes all leaves: each is done as soon as it has both
    children, so that few sums live. Where a leaf is the right child, it is added as it is read."""

    def __init__(self, sums: Sums, folds: list[Fold]) -> None:
        self._sums, self._folds = sums, defaultdict(deque)
        for one in folds:
            for head in range(one.head, one.head + one.heads):
                self._folds[one.document, head].append(one)

    def add(self, leaf: Leaf, of_leaf: LeafSums) -> None:
        document, head, node, left = leaf.document, leaf.head, Node(0, leaf.number), None
        folds = self._folds[document, head]
        if folds:
            above = Node(folds[0].level, folds[0].index)
            if above.right(leaf.document_leaves) == node:
                left = self._sums.taken(document, head, above.left)
            if left is not None:
                node = above
                folds.popleft()
        self._sums.add(document, head, node, Part(0, leaf.end, of_leaf.rows(left)))
        self._advance(document, head)

    def _advance(self, document: int, head: int) -> None:
        folds, leaves = self._folds[document, head], len(self._sums.plan.leaves.of(document))
        while folds:
            one = folds[0]
            node = Node(one.level, one.index)
            if not (
                self._sums.has(document, head, node.left)
                and self._sums.has(document, head, node.right(leaves))
            ):
                return
            self._sums.make(one._replace(head=head, heads=1))
            folds.popleft()

    def finish(self) -> None:
        left = [key for key, folds in self._folds.items() if folds]
        assert not left, f"expected all folds of servers to be done, found {left}"
