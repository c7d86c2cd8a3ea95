package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"hob/daemon/sqlite"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Prompt returns the stable prefix of a session: the system text and the tools. The first call stores the result of fresh; later ones
// return the stored prefix, so that the provider's cache stays valid. Guests have a prefix of their own. The tools are shared with later
// calls: callers may not change them.
func (s Turns) Prompt(ctx context.Context, session int64, guest bool, fresh func() (string, []llm.Tool)) (system string, tools []llm.Tool, err error) {
	row := func(query string, args []any, dest ...any) error {
		return s.core.read().QueryRowContext(ctx, query, args...).Scan(dest...)
	}
	system, tools, found, err := s.core.prompts.read(row, session, guest)
	if err != nil || found {
		return system, tools, err
	}
	system, tools = fresh()
	list, err := sqlite.Doc(tools)
	if err != nil {
		return "", nil, err
	}
	// The first 16 bytes of the hash name the prefix, so sessions with equal text share one row.
	sum := sha256.Sum256([]byte(system + "\x00" + list))
	hash := hex.EncodeToString(sum[:16])
	err = s.core.write(ctx, func(tx *Tx) error {
		if err := tx.Run("INSERT INTO prompts (hash, text, tools, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", hash, system, list, sqlite.Micros(tx.Now)); err != nil {
			return fmt.Errorf("store prompt: %w", err)
		}
		return tx.Run("UPDATE sessions SET prompt = iif(?2, prompt, ?1), guest_prompt = iif(?2, ?1, guest_prompt) WHERE id = ?3", hash, guest, session)
	})
	return system, tools, err
}

// ForgetPrompts lets every session take a new prefix with its next request, after a reload of the config.
func (s Turns) ForgetPrompts(ctx context.Context) error {
	return s.core.write(ctx, forgetPrompts)
}

// forgetPrompts drops the stored system prompts of live sessions. The next turn builds a new one.
func forgetPrompts(tx *Tx) error {
	return tx.Run("UPDATE sessions SET prompt = NULL, guest_prompt = NULL WHERE archived = 0")
}

// promptIn returns the stored prefix for a turn inside a transaction, and false if there is none.
func promptIn(tx *Tx, t turn.Turn) (system string, tools []llm.Tool, found bool, err error) {
	return tx.core.prompts.read(tx.One, t.Session, t.Asker != event.Owner)
}

// keptPrompt is the prefix that was read last, because nearly all sessions share it, and its tools take long to decode.
type keptPrompt struct {
	mu     sync.Mutex
	hash   string
	system string
	tools  []llm.Tool
}

// read reads the prefix of a session through row, which runs a query for one row. A hash names its content, so what is kept is never old.
func (k *keptPrompt) read(row func(query string, args []any, dest ...any) error, session int64, guest bool) (system string, tools []llm.Tool, found bool, err error) {
	var hash sql.NullString
	if err := row("SELECT iif(?, guest_prompt, prompt) FROM sessions WHERE id = ?", []any{guest, session}, &hash); err != nil || !hash.Valid {
		return "", nil, false, ignoreNoRows(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hash == hash.String {
		return k.system, k.tools, true, nil
	}
	if err := row("SELECT text, tools FROM prompts WHERE hash = ?", []any{hash.String}, &system, sqlite.JSON(&tools)); err != nil {
		return "", nil, false, ignoreNoRows(err)
	}
	k.hash, k.system, k.tools = hash.String, system, tools
	return system, tools, true, nil
}

// ignoreNoRows turns sql.ErrNoRows into nil, because a session without a stored prefix is not an error.
func ignoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
