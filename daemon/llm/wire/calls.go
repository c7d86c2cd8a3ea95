package wire

import (
	"errors"
	"fmt"

	"hob/daemon/llm"
)

// ErrNoName reports a call that names no tool.
var ErrNoName = errors.New("a call without a tool's name")

// Unique appends a number to an id that is in use. used counts the uses.
func Unique(id string, used map[string]int) string {
	free := id
	for used[free] > 0 {
		used[id]++
		free = fmt.Sprintf("%s_%d", id, used[id])
	}
	used[free]++
	return free
}

// Room is the number of bytes that may still arrive of an answer.
type Room int

// An answer with more bytes per token than any tokenizer produces will not end by itself.
const (
	mostPerToken = 32
	leastRoom    = 1 << 20
)

// NewRoom returns the room of an answer of so many tokens.
func NewRoom(tokens int) Room { return Room(max(min(tokens, MaxBody)*mostPerToken, leastRoom)) }

// Spend counts received bytes. An answer far over its limit is cut off, because a server that ignores the limit may never stop.
func (r *Room) Spend(n int) error {
	*r -= Room(n)
	if *r < 0 {
		return &llm.Error{Fault: llm.Endless, Text: "the answer is far longer than its limit"}
	}
	return nil
}
