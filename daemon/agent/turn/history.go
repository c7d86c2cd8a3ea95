package turn

import "time"

// HistoryItem is a message or an answer of a conversation, for the index of the memory.
type HistoryItem struct {
	Seq, Session int64
	Turn         int64
	Key          string    // of the session
	Answer       bool      // hob's; else it is an input
	Own          bool      // of the owner, or an answer of a turn that had read nothing foreign
	Clean        bool      // its turn had read nothing foreign
	Sender       string    // the name of who wrote it
	Person       string    // the sender's immutable id on the channel; without one, that of the session
	At           time.Time //
	Text         string    // "" while its turn has not ended
	Open         bool      // its turn has not ended
}

// HistoryBatch is a part of the history.
type HistoryBatch struct {
	Items []HistoryItem
	Next  int64 // the number after which to go on
	Last  int64 // the highest number of an item; the end is reached when Next is Last
}
