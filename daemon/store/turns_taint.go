package store

import (
	"hob/daemon/event"
)

// lowerTrust records that a turn has read foreign text. The turn and its conversation become tainted.
//
// Trust never rises again. /clean begins a new session instead.
func lowerTrust(tx *Tx, turn int64, from string) error {
	if from == "" {
		return nil
	}
	if err := taintProgram(tx, turn, from); err != nil {
		return err
	}
	return lowerConversation(tx, turn, from)
}

// taintProgram records that a program may have got foreign text from a turn. All its later requests count as tainted, in any conversation
// and by MCP, because they may come from that text.
func taintProgram(tx *Tx, turn int64, from string) error {
	return tx.Run(`UPDATE endpoints SET foreign_from = ?1 WHERE foreign_from = ''
		AND EXISTS (SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?2 AND s.key GLOB 'endpoint:' || endpoints.name || '#' || endpoints.id || '/*')`, from, turn)
}

// lowerConversation makes a turn and its conversation tainted.
func lowerConversation(tx *Tx, turn int64, from string) error {
	if err := tx.Run("UPDATE turns SET tainted = 1, foreign_from = iif(foreign_from = '', ?, foreign_from) WHERE id = ?", from, turn); err != nil {
		return err
	}
	if err := tx.Run("UPDATE sessions SET watermark = ?, foreign_from = ? WHERE watermark = ? AND id = (SELECT session FROM turns WHERE id = ?)", event.Public, from, event.Owner, turn); err != nil {
		return err
	}
	// The owner's permission for the rest of the turn was given before this foreign text was read. It now counts for one call.
	return tx.Run(`UPDATE questions SET answer = 'once' WHERE answer = 'turn' AND state IN ('answered', 'consumed')
		AND turn IN (SELECT id FROM turns WHERE ended = 0 AND session = (SELECT session FROM turns WHERE id = ?))`, turn)
}

// lowerTrustBy lowers the trust for an input that joins a turn, if it has foreign text: words of somebody else, words derived from foreign
// text, or files, whose content the model sees.
func lowerTrustBy(tx *Tx, turn int64, in event.In) error {
	switch {
	case in.Trust != event.Owner && in.Source == event.Endpoint: // foreign to the owner, but not to the program that wrote it
		return lowerConversation(tx, turn, "a message from "+in.Source)
	case in.Trust != event.Owner:
		return lowerTrust(tx, turn, "a message from "+in.Source)
	case in.Tainted:
		return lowerTrust(tx, turn, "words that "+in.Source+" brought")
	}
	for _, p := range in.Parts {
		if p.Kind != event.Text {
			return lowerTrust(tx, turn, "a file in a message")
		}
	}
	return nil
}
