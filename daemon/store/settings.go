package store

import (
	"database/sql"
	"errors"
)

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
