package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"hob/daemon/sqlite"

	"hob/daemon/llm"
)

// Prompt returns the stable prefix of a session: the system text and the tools. The first call stores the result of fresh; later ones
// return the stored prefix, so that the provider's cache stays valid. Guests have a prefix of their own.
func (s Turns) Prompt(ctx context.Context, session int64, guest bool, fresh func() (string, []llm.Tool)) (system string, tools []llm.Tool, err error) {
	err = s.core.read().QueryRowContext(ctx, "SELECT p.text, p.tools FROM prompts p JOIN sessions s ON p.hash = iif(?, s.guest_prompt, s.prompt) WHERE s.id = ?", guest, session).Scan(&system, sqlite.JSON(&tools))
	if !errors.Is(err, sql.ErrNoRows) {
		return system, tools, err
	}
	system, tools = fresh()
	list, err := sqlite.Doc(tools)
	if err != nil {
		return "", nil, err
	}
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
