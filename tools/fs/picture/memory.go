package picture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image/color"
	"io"
)

// memory returns how many bytes it takes at most to decode and shrink a picture: the decoder's
// pixels, one strip of them, and the result. It only returns errors of r.
func (h Header) memory(r *io.SectionReader, m color.Model) (float64, error) {
	each, err := h.eachPixel(r, m)
	w, height := float64(h.Width), float64(h.Height)
	shownW, shownH := fitted(h.Width, h.Height)
	return w*height*each + w*min(strip, height)*4 + float64(shownW)*float64(shownH)*4, err
}

// eachPixel returns how many bytes a decoder uses per pixel at most.
func (h Header) eachPixel(r *io.SectionReader, m color.Model) (float64, error) {
	_, palette := m.(color.Palette)
	switch {
	case h.Format == "jpeg":
		return ofJPEG(r)
	case h.Format == "webp" && m == color.YCbCrModel:
		return 2, nil
	case h.Format == "webp":
		return 7, nil // transparency is decoded as a second picture
	case h.Format == "gif":
		return 2, nil // including a copy for reordering the rows
	}
	each := 4.0 // also for grey pictures, which may have a transparent colour
	switch m {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		each = 8
	}
	if palette {
		each = 1
	}
	// Byte 28 of a PNG file is the interlace method (RFC 2083, 4.1.1).
	inter := make([]byte, 1)
	if _, err := r.ReadAt(inter, 28); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if h.Format == "png" && inter[0] != 0 { // each pass is a separate picture
		each *= 1.6
	}
	return each, nil
}

// worstJPEG is the assumption for a JPEG without a frame header in the expected place.
const worstJPEG = 24

// ofJPEG returns how many bytes a decoder uses per pixel of a JPEG: one byte for each sample of its
// frame (ITU T.81, B.2.2), four more for a progressive one, whose coefficients are kept, and a
// second picture for four colours.
func ofJPEG(r io.ReaderAt) (float64, error) {
	b := bufio.NewReader(io.NewSectionReader(r, 2, maxFile))
	for range maxSegments {
		var head [4]byte
		if _, err := io.ReadFull(b, head[:]); err != nil {
			return worstJPEG, ended(err)
		}
		size := int(binary.BigEndian.Uint16(head[2:])) - 2
		if head[0] != 0xff || size < 0 {
			return worstJPEG, nil
		}
		// Frames with the markers SOF0 to SOF2 are those that the decoder knows. Other segments are skipped.
		if head[1] < 0xc0 || head[1] > 0xc2 {
			if _, err := b.Discard(size); err != nil {
				return worstJPEG, ended(err)
			}
			continue
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(b, frame); err != nil {
			return worstJPEG, ended(err)
		}
		return ofFrame(frame, head[1] == 0xc2), nil
	}
	return worstJPEG, nil
}

// ofFrame computes that from a frame header.
func ofFrame(frame []byte, progressive bool) float64 {
	if len(frame) < 6 || len(frame) < 6+3*int(frame[5]) || frame[5] == 0 {
		return worstJPEG
	}
	sum, wide, high := 0.0, byte(1), byte(1)
	for c := range int(frame[5]) {
		// Each component has three bytes: its id, its sampling factors in two halves, and its table.
		sampling := frame[6+3*c+1]
		sum += float64(sampling>>4) * float64(sampling&15)
		wide, high = max(wide, sampling>>4), max(high, sampling&15)
	}
	// A component with smaller factors has fewer samples than the picture has pixels.
	each := sum / (float64(wide) * float64(high))
	if progressive {
		each *= 5
	}
	if frame[5] > 3 {
		each += 4
	}
	return each * 1.05 // incomplete blocks at the edges
}
