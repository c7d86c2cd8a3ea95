package catalog

import (
	"context"
	"encoding/base64"
	"fmt"
)

// The picture of a trial is 96 by 96 pixels: the left half is white, the right half orange. As text it costs 200 bytes; to
// draw it, image/png would cost 160 KB.
const (
	pictureID     = "trial"
	pictureColour = "orange"
	pictureData   = "iVBORw0KGgoAAAANSUhEUgAAAGAAAABgAQMAAADYVuV7AAAABlBMVEX/////gADQ2X/YAAAAG0lEQVR4nGKAgP9gMMoZ5YxyRjnDiAMIAAD//yEwPd9TmXzUAAAAAElFTkSuQmCC"
)

// picture is the llm.Files of a trial: the one picture and nothing else.
type picture struct{}

// Bytes returns the picture.
func (picture) Bytes(_ context.Context, artifact string) ([]byte, error) {
	if artifact != pictureID {
		return nil, fmt.Errorf("open %q: a trial has only %q", artifact, pictureID)
	}
	data, err := base64.StdEncoding.DecodeString(pictureData)
	if err != nil {
		return nil, fmt.Errorf("decode the picture: %w", err)
	}
	return data, nil
}
