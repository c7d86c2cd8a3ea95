package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// keyModel is the setting with the model that the owner has chosen in place of the configured one.
const keyModel = "model"

// ChosenModel returns the name of the chosen model, or "" for the configured one.
func (s Commands) ChosenModel(ctx context.Context) (string, error) {
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
func (s Commands) ChooseModel(ctx context.Context, name string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if err := putSetting(tx, keyModel, name); err != nil {
			return err
		}
		return forgetPrompts(tx)
	})
}
