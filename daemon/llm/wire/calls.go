package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hob/daemon/llm"
)

// Calls collects the calls of an answer. The zero value has none.
type Calls struct {
	List []llm.Call
	used map[string]int // the ids
}

// Add adds a call, which is the answer's n-th part. A call without an id gets one, and ids are made unique.
func (c *Calls) Add(n int, id, name, args string) error {
	if name == "" {
		return &llm.Error{Fault: llm.Malformed, Err: errNoName}
	}
	if c.used == nil {
		c.used = map[string]int{}
	}
	if strings.TrimSpace(args) == "" {
		args = "{}" // some servers send nothing for a tool without parameters
	}
	if id == "" {
		id = fmt.Sprintf("call_%d", n)
	}
	c.List = append(c.List, llm.Call{ID: unique(id, c.used), Name: name, Args: json.RawMessage(args)})
	return nil
}

// errNoName reports a call that names no tool.
var errNoName = errors.New("a call without a tool's name")

// unique appends a number to an id that is in use. used counts the uses.
func unique(id string, used map[string]int) string {
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
