package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Settings holds what the owner has chosen at run time in place of the config.
type Settings struct{ core *core }

// readSetting returns the value of a key, or "".
func readSetting(tx *Tx, key string) (value string, err error) {
	err = tx.One("SELECT value FROM settings WHERE key = ?", []any{key}, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// putSetting sets the value of a key; "" removes it.
func putSetting(tx *Tx, key, value string) error {
	if value == "" {
		return tx.Run("DELETE FROM settings WHERE key = ?", key)
	}
	return tx.Run("INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
}

// keyModel is the setting with the model that the owner has chosen in place of the configured one.
const keyModel = "model"

// ChosenModel returns the name of the chosen model, or "" for the configured one.
func (s Settings) ChosenModel(ctx context.Context) (string, error) {
	var name string
	err := s.core.read().QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", keyModel).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read setting: %w", err)
	}
	return name, nil
}

// ChooseModel stores the owner's choice; "" returns to the config. Every session starts its next request with a new prefix.
func (s Settings) ChooseModel(ctx context.Context, name string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if err := putSetting(tx, keyModel, name); err != nil {
			return err
		}
		return forgetPrompts(tx)
	})
}
