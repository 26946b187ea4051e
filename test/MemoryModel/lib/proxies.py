"""Which orders survive a change of proxy: PTX ISA 8.9.5, extended to proxy fences as the
mixed-proxy paper does (Lustig, Cooksey, Giroux, ISCA 2022), and to the async and tensormap proxies
by the sentences of `fence` (9.7.15.4) and of kernel boundaries (8.9.4).

The ISA says of `fence.proxy.async` that it takes "effect within a single thread" and "composes with
other forms of synchronization"; it does not say how. There are two readings, and `READINGS` has
both:

    path     a fence counts anywhere on the way from one access to the other, in the block of the
             access that is not generic. That is the rule of the paper, which stops before the
             async proxy.
    thread   the generic access must be of the fence's own thread, as well: what "within a single
             thread" says if nothing may be added to it. It is asked of two-way fences only; others
             have a scope.

On products 9.7.17.7.1 says: "An async proxy fence must be used to establish an ordering between
prior writes to shared memory matrices and subsequent reads", and leaves open by whom.
"""

from __future__ import annotations

from events import INITIAL, Event
from orders import Condition, Order, both, either

READINGS = ("path", "thread")


class Proxies:
    """Proxy-preserved base causality order."""

    def __init__(self, events: list[Event], base: Order, before, reading: str):
        self.events, self.base, self.before, self.reading = events, base, before, reading
        self.fences = [event for event in events if event.kind == "proxy fence"]
        self.known: dict[tuple, list[Event]] = {}
        self.boundaries = [event for event in events if event.kind == "boundary"]

    def keeps(self, first: Event, second: Event) -> Condition:
        """Whether base causality between two accesses of one place becomes causality."""
        if INITIAL in (first.thread, second.thread):
            return second.thread != INITIAL
        ordered = self.before(first, second)
        if ordered is False:
            return False
        if first.address != second.address:  # aliases: 8.9.5, third case
            fences = [fence for fence in self.fences if fence.proxy == "alias"]
            return both(ordered, either(self.between(first, fence, second) for fence in fences))
        if first.proxy == second.proxy and (
            first.proxy == "generic" or first.block == second.block and first.grid == second.grid
        ):
            return ordered
        return both(ordered, self.bridged(first, second))

    def between(self, first: Event, fence: Event, second: Event) -> Condition:
        return both(self.before(first, fence), self.before(fence, second))

    def bridged(self, first: Event, second: Event) -> Condition:
        """Fences on the way: one that leads out of the first access's proxy, one that leads into
        the second's."""
        leaves: list[Event | None] = [None]
        enters: list[Event | None] = [None]
        if first.proxy != "generic":
            leaves = self.on_the_way(first, second, self.leading(first, second))
        if second.proxy != "generic":
            enters = self.on_the_way(first, second, self.leading(second, first))
        ways = []
        for leave in leaves:
            for enter in enters:
                stops = [stop for stop in (leave, enter) if stop is not None]
                stops = [first, *(stops[:1] if leave is enter else stops), second]
                ways.append(both(*(self.before(a, b) for a, b in zip(stops, stops[1:]))))
                if ways[-1] is True:
                    return True
        return either(ways)

    def on_the_way(self, first: Event, second: Event, fences: list[Event]) -> list[Event]:
        """Those that can be between two accesses."""
        if not self.base.conditional:
            row = self.base.rows[first.number]
            fences = [fence for fence in fences if row >> fence.number & 1]
        return [
            fence
            for fence in fences
            if self.before(first, fence) is not False and self.before(fence, second) is not False
        ]

    def leading(self, access: Event, other: Event) -> list[Event]:
        """What bridges from the proxy of `access` to the generic one, or back."""
        key = (
            access.proxy,
            access.block,
            access.grid,
            access.space,
            access.address,
            other.proxy,
            other.thread,
            other.number if access.proxy == "tensormap" else None,
        )
        if key not in self.known:
            self.known[key] = self._leading(access, other)
        return self.known[key]

    def _leading(self, access: Event, other: Event) -> list[Event]:
        found = [
            fence
            for fence in self.fences
            if fence.proxy == access.proxy
            and fence.block == access.block
            and fence.grid == access.grid
            and fence.space in ("", access.space)
            and fence.address in ("", access.address)
            and (
                self.reading == "path"
                or other.proxy != "generic"
                or fence.thread == other.thread
                or fence.is_asynchronous
                or fence.direction != "both"
            )
        ]
        if access.proxy == "tensormap":
            # 9.7.15.4: a use of a descriptor acquires; a release is before it, by its writer or by
            # the end of the grid (8.9.4).
            acquires = [fence for fence in found if fence.direction == "acquire"]
            released = [
                fence
                for fence in self.fences
                if fence.proxy == "tensormap" and fence.direction == "release"
            ]
            return [
                fence
                for fence in acquires
                if any(
                    self.base.always(giver.number, fence.number)
                    and self.base.always(other.number, giver.number)
                    for giver in [*released, *self.boundaries]
                )
            ]
        # 8.9.4: "the CUDA API synchronization mechanisms above also participate in proxy-preserved
        # base causality order".
        return found + [boundary for boundary in self.boundaries]
