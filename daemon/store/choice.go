package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// keyModel is the setting that names the model which the owner has chosen instead of the configured one.
const keyModel = "model"

// ChosenModel is the name of the model that the owner has chosen, "" when it is the config's.
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

// ChooseModel stores the owner's choice, "" for the config's, and lets every session begin its next request with a fresh prefix.
func (s Commands) ChooseModel(ctx context.Context, name string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if err := putSetting(tx, keyModel, name); err != nil {
			return err
		}
		return forgetPrompts(tx)
	})
}
