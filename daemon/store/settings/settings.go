// Package settings holds what is remembered under a name and has no table of its own. It works inside the transactions of package store.
package settings

import (
	"database/sql"
	"errors"

	"hob/daemon/store/db"
)

// Read is what stands under a key, "" when nothing does.
func Read(tx *db.Tx, key string) (value string, err error) {
	err = tx.One("SELECT value FROM settings WHERE key = ?", []any{key}, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// Put sets what stands under a key; "" removes it.
func Put(tx *db.Tx, key, value string) error {
	if value == "" {
		return tx.Run("DELETE FROM settings WHERE key = ?", key)
	}
	return tx.Run("INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
}
