package store

import (
	"hob/daemon/agent/turn"
)

// AskIn puts a question to the owner inside a transaction.
func AskIn(tx *Tx, q *turn.Question) (int64, error) { return askOwner(tx, q) }

// EndIn ends a turn inside a transaction.
func EndIn(tx *Tx, id int64, state turn.Status) error {
	return endTurn(tx, id, turn.Finish{State: state})
}
