package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// maxFile is the largest artifact that goes to a model, in bytes.
const maxFile = 8 << 20

var _ llm.Files = shelf{}

// Bytes reads an artifact for a model.
func (s shelf) Bytes(ctx context.Context, id string) ([]byte, error) {
	a, err := s.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(a.Body, maxFile+1))
	if err = errors.Join(err, a.Body.Close()); err != nil {
		return nil, fmt.Errorf("read artifact %s: %w", id, err)
	}
	if len(data) > maxFile {
		return nil, event.NewFault(event.Invalid, "", "artifact %s has more than %d MB", id, maxFile>>20)
	}
	return data, nil
}
