package scheduler

import "time"

// hint is the next due time of a job, in 16 bytes without a pointer. A million jobs take 16 MB that the garbage collector need not scan.
type hint struct {
	id  int64
	due int64 // Unix milliseconds
}

// hintOf rounds up: a hint that surfaces before its job is due would be dropped.
func hintOf(e Entry) hint { return hint{id: e.ID, due: e.Due.Add(time.Millisecond - 1).UnixMilli()} }

// dueHeap is a binary heap of hints, earliest first. A hint is only a reminder to read the job's row; if the row says otherwise, the hint
// is dropped. Changing a job therefore only adds a hint, and no map is needed.
type dueHeap []hint

// earlier orders hints by time; at the same time the older job comes first.
func earlier(a, b hint) bool { return a.due < b.due || a.due == b.due && a.id < b.id }

// order turns hints in any order into a heap.
func (h dueHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// push adds a hint and restores the heap's order, upwards from the new element.
func (h *dueHeap) push(e hint) {
	*h = append(*h, e)
	list := *h
	for i := len(list) - 1; i > 0; {
		parent := (i - 1) / 2
		if !earlier(list[i], list[parent]) {
			return
		}
		list[i], list[parent] = list[parent], list[i]
		i = parent
	}
}

// pop removes and returns the earliest hint.
func (h *dueHeap) pop() hint {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	*h = list[:last]
	h.down(0)
	return first
}

// down restores the heap's order, downwards from the element i.
func (h dueHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && earlier(h[right], h[child]) {
			child = right
		}
		if !earlier(h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
