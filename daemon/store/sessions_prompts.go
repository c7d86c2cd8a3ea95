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
func (s Turns) Prompt(ctx context.Context, session int64, guest bool, fresh func() turn.Prefix) (system string, tools []llm.Tool, err error) {
	row := func(query string, args []any, dest ...any) error {
		return s.core.read().QueryRowContext(ctx, query, args...).Scan(dest...)
	}
	system, tools, found, err := s.core.prompts.read(row, session, guest)
	if err != nil || found {
		return system, tools, err
	}
	now := fresh()
	err = s.core.write(ctx, func(tx *Tx) error {
		hash, err := keepPrefix(tx, now)
		if err != nil {
			return fmt.Errorf("store prompt: %w", err)
		}
		return tx.Run(`UPDATE sessions SET prompt = iif(?2, prompt, ?1), guest_prompt = iif(?2, ?1, guest_prompt),
			shown = iif(?2, shown, ?1), guest_shown = iif(?2, ?1, guest_shown) WHERE id = ?3`, hash, guest, session)
	})
	return now.Text(), now.Tools, err
}

// keepPrefix stores a prefix and returns its hash. Sessions with equal prefixes share one row.
func keepPrefix(tx *Tx, p turn.Prefix) (hash string, err error) {
	list, err := sqlite.Doc(p.Tools)
	if err != nil {
		return "", err
	}
	names, err := sqlite.Doc(p.Sizes())
	if err != nil {
		return "", err
	}
	// The first 16 bytes of the hash name the prefix.
	text := p.Text()
	sum := sha256.Sum256([]byte(text + "\x00" + list + "\x00" + names))
	hash = hex.EncodeToString(sum[:16])
	return hash, tx.Run("INSERT INTO prompts (hash, text, parts, tools, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", hash, text, names, list, sqlite.Micros(tx.Now))
}

// Shown returns the sections of the system text that a session was shown last: those of its prefix, with the changes that arrived as notes.
// It returns nil if the session has no prefix.
func (s Turns) Shown(ctx context.Context, session int64, guest bool) ([]turn.Section, error) {
	var text string
	var parts []turn.SectionSize
	err := s.core.read().QueryRowContext(ctx, `SELECT p.text, p.parts FROM sessions s JOIN prompts p ON p.hash = iif(?2, s.guest_shown, s.shown)
		WHERE s.id = ?1 AND iif(?2, s.guest_prompt, s.prompt) IS NOT NULL`, session, guest).Scan(&text, sqlite.JSON(&parts))
	if err != nil {
		return nil, ignoreNoRows(err)
	}
	return turn.CutSections(text, parts), nil
}

// StoredPrefix returns the prefix of a session: the one for the asker of its newest turn. stored is false if it has none.
func (s Turns) StoredPrefix(ctx context.Context, session int64) (p turn.Prefix, guest, stored bool, err error) {
	var text string
	var parts []turn.SectionSize
	err = s.core.read().QueryRowContext(ctx, "SELECT coalesce((SELECT asker <> 'owner' FROM turns WHERE session = ? ORDER BY id DESC LIMIT 1), 0)", session).Scan(&guest)
	if err != nil {
		return p, false, false, err
	}
	err = s.core.read().QueryRowContext(ctx, "SELECT p.text, p.parts, p.tools FROM sessions s JOIN prompts p ON p.hash = iif(?2, s.guest_prompt, s.prompt) WHERE s.id = ?1", session, guest).
		Scan(&text, sqlite.JSON(&parts), sqlite.JSON(&p.Tools))
	if err != nil {
		return p, guest, false, ignoreNoRows(err)
	}
	p.System = turn.CutSections(text, parts)
	return p, guest, true, nil
}

// noteShown records that a session was shown changed sections.
func noteShown(tx *Tx, c turn.Shown) error {
	hash, err := keepPrefix(tx, turn.Prefix{System: c.Sections, Tools: []llm.Tool{}})
	if err != nil {
		return err
	}
	return tx.Run("UPDATE sessions SET shown = iif(?2, shown, ?1), guest_shown = iif(?2, ?1, guest_shown) WHERE id = ?3", hash, c.Guest, c.Session)
}

// ForgetPrompts lets every session take a new prefix with its next request, after a reload of the config.
func (s Turns) ForgetPrompts(ctx context.Context) error {
	return s.core.write(ctx, forgetPrompts)
}

// forgetPrompts drops the stored system prompts of live sessions. The next turn builds a new one.
func forgetPrompts(tx *Tx) error {
	return tx.Run("UPDATE sessions SET prompt = NULL, guest_prompt = NULL, shown = NULL, guest_shown = NULL WHERE archived = 0")
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
