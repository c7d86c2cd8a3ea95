package scheduler

import "time"

// hint says when a job is due next, in 16 bytes without a pointer: a million jobs are 16 MB that the collector need not look through.
type hint struct {
	id  int64
	due int64 // Unix milliseconds
}

// hintOf rounds up: a hint that comes up before its job is due would be dropped.
func hintOf(e Entry) hint { return hint{id: e.ID, due: e.Due.Add(time.Millisecond - 1).UnixMilli()} }

// dueHeap is a binary heap of hints, the earliest first. A hint is never the truth: when it comes up, the job's row is read
// again, and a hint that the row no longer agrees with is dropped. So changing a job only adds a hint, and no map is needed.
type dueHeap []hint

func earlier(a, b hint) bool { return a.due < b.due || a.due == b.due && a.id < b.id }

// order makes a heap of hints in any order.
func (h dueHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

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

func (h *dueHeap) pop() hint {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	*h = list[:last]
	h.down(0)
	return first
}

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
