package catalog

import (
	"context"
	"encoding/base64"
	"fmt"
)

// The test picture has 96 by 96 pixels: the left half is white, the right half orange. As text it takes 200 bytes; drawing it with
// image/png would take 160 KB of code.
const (
	pictureID     = "trial"
	pictureColour = "orange"
	pictureData   = "iVBORw0KGgoAAAANSUhEUgAAAGAAAABgAQMAAADYVuV7AAAABlBMVEX/////gADQ2X/YAAAAG0lEQVR4nGKAgP9gMMoZ5YxyRjnDiAMIAAD//yEwPd9TmXzUAAAAAElFTkSuQmCC"
)

// picture is the llm.Files of a trial. It holds the test picture and nothing else.
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
