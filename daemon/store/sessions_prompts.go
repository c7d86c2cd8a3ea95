package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"sync"

	"hob/daemon/sqlite"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// Prompt returns the stable prefix of a session. The first call stores the result of fresh. Later calls
// return the stored prefix, so that the provider's cache stays valid. Guests have a prefix of their own. Callers may not change the tools,
// because later calls return the same slice.
func (s Turns) Prompt(ctx context.Context, session int64, guest bool, fresh func() turn.Prefix) (turn.Prefix, error) {
	stored, err := s.core.prompts.read(s.core.read().One(ctx), session, guest)
	if err != nil || stored.found {
		return turn.Prefix{System: stored.sections, Tools: stored.tools}, err
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
	return now, err
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

// Shown returns the sections of the system text as the session knows them: those of its prefix, with the changes from later notes. It
// returns nil if the session has no prefix.
func (s Turns) Shown(ctx context.Context, session int64, guest bool) ([]turn.Section, error) {
	p, err := s.core.prompts.read(s.core.read().One(ctx), session, guest)
	return p.shown, err
}

// StoredPrefix returns the prefix of a session for the asker of its newest turn. stored is false if there is none.
func (s Turns) StoredPrefix(ctx context.Context, session int64) (p turn.Prefix, guest, stored bool, err error) {
	one := s.core.read().One(ctx)
	if err := one("SELECT coalesce((SELECT "+guestTurn+" FROM turns t JOIN sessions s ON s.id = t.session WHERE t.session = ? ORDER BY t.id DESC LIMIT 1), 0)", []any{session}, &guest); err != nil {
		return p, false, false, err
	}
	have, err := s.core.prompts.read(one, session, guest)
	return turn.Prefix{System: have.sections, Tools: have.tools}, guest, have.found, err
}

// noteShown records that a note has told a session about changed sections.
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

// storedPrompt is the prefix of a session.
type storedPrompt struct {
	found    bool // the session has one
	system   string
	sections []turn.Section // of system
	tools    []llm.Tool
	shown    []turn.Section // the sections as later notes have changed them; nil: unknown
}

// keptPrompts caches the prefixes that were read last, by hash. Nearly all sessions share a few prefixes, and decoding their tools is slow.
// A hash identifies the content, so an entry is never outdated.
type keptPrompts struct {
	mu   sync.Mutex
	kept map[string]storedPrompt
}

// mostPrompts is the size of the cache.
const mostPrompts = 3

// read reads the prefix of a session. row runs a query for one row.
func (k *keptPrompts) read(row func(query string, args []any, dest ...any) error, session int64, guest bool) (p storedPrompt, err error) {
	var hash, shown sql.NullString
	if err := row("SELECT iif(?1, guest_prompt, prompt), iif(?1, guest_shown, shown) FROM sessions WHERE id = ?2", []any{guest, session}, &hash, &shown); err != nil || !hash.Valid {
		return p, ignoreNoRows(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	last, err := k.named(row, shown.String)
	if err == nil {
		p, err = k.named(row, hash.String)
	}
	p.shown = last.sections
	return p, err
}

// named returns the prefix with a hash. The caller holds the lock.
func (k *keptPrompts) named(row func(query string, args []any, dest ...any) error, hash string) (p storedPrompt, err error) {
	if p, ok := k.kept[hash]; ok {
		return p, nil
	}
	var sizes []turn.SectionSize
	if err := row("SELECT text, tools, parts FROM prompts WHERE hash = ?", []any{hash}, &p.system, sqlite.JSON(&p.tools), sqlite.JSON(&sizes)); err != nil {
		return storedPrompt{}, ignoreNoRows(err)
	}
	if p.found, p.sections = true, turn.CutSections(p.system, sizes); len(k.kept) >= mostPrompts || k.kept == nil {
		k.kept = map[string]storedPrompt{}
	}
	k.kept[hash] = p
	return p, nil
}

// ignoreNoRows turns sql.ErrNoRows into nil, because a session without a stored prefix is not an error.
func ignoreNoRows(err error) error {
	return sys.Except(err, sql.ErrNoRows)
}
