package store

import (
	"context"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// Settings holds the owner's choices at run time that replace the config.
type Settings struct{ core *core }

// The keys of settings.
const (
	keySafeMode = "safe_mode"
	keyDayMoney = "budget_money_per_day"
	keyDayCount = "budget_count_per_day"
)

// readSetting returns the value of a key, or "".
func readSetting(tx *Tx, key string) (value string, err error) {
	return value, ignoreNoRows(tx.One("SELECT value FROM settings WHERE key = ?", []any{key}, &value))
}

// setting is readSetting outside of a transaction.
func (s *core) setting(ctx context.Context, key string) (value string, err error) {
	err = s.read().QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", key).Scan(&value)
	return value, ignoreNoRows(err)
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
	name, err := s.core.setting(ctx, keyModel)
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

// SafeMode returns the reason that safe mode is on, or "".
func (s Settings) SafeMode(ctx context.Context) (string, error) {
	return s.core.setting(ctx, keySafeMode)
}

// LeaveSafeMode ends safe mode. It wakes the thread and the scheduler.
func (s Settings) LeaveSafeMode(ctx context.Context) error {
	return s.core.write(ctx, func(tx *Tx) error {
		// Inputs, turns and slots that safe mode held back can start after this commit.
		tx.Wake(sqlite.SignalInbox | sqlite.SignalJobs)
		if err := putSetting(tx, keySafeMode, ""); err != nil {
			return err
		}
		return addEvent(tx, event.Event{Type: "safe-mode.off"})
	})
}
