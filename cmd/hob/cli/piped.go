package cli

import (
	"fmt"
	"io"
	"strings"
)

// maxSecret is the most that is read of a secret, in bytes.
const maxSecret = 64 << 10

// PipedSecret reads a secret of one line from standard input. what names it, and hint shows how to pipe it in.
func PipedSecret(in io.Reader, what, hint string) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	text := strings.TrimSpace(string(raw))
	if text == "" || strings.ContainsAny(text, "\r\n") || len(raw) > maxSecret {
		return "", Usage(hint, "standard input: want one line with the %s, of at most %d KB", what, maxSecret>>10)
	}
	return text, nil
}
