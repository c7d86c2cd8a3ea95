package picture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image"
	"io"
)

// way is the orientation of a picture in its file, with the numbers of EXIF (CIPA DC-008, tag
// 0x0112).
type way uint16

// upright means that the picture need not be turned.
const upright way = 1

const (
	orientationTag = 0x0112
	typeShort      = 3
	maxSegments    = 200 // examined before the picture starts
)

// orientation finds the orientation in the first EXIF segment of a JPEG (APP1, "Exif\0\0" and a
// TIFF structure). A missing or broken segment means upright. It only returns errors of r.
func orientation(r io.Reader) (way, error) {
	b := bufio.NewReader(r)
	if _, err := b.Discard(2); err != nil {
		return upright, ended(err)
	}
	for range maxSegments {
		var head [4]byte
		if _, err := io.ReadFull(b, head[:]); err != nil {
			return upright, ended(err)
		}
		size := int(binary.BigEndian.Uint16(head[2:])) - 2
		// 0xda starts the compressed data (SOS). No EXIF segment follows it.
		if head[0] != 0xff || head[1] == 0xda || size < 0 {
			return upright, nil
		}
		if head[1] != 0xe1 {
			if _, err := b.Discard(size); err != nil {
				return upright, ended(err)
			}
			continue
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(b, data); err != nil {
			return upright, ended(err)
		}
		if len(data) > 6 && string(data[:6]) == "Exif\x00\x00" {
			return wayIn(data[6:]), nil
		}
	}
	return upright, nil
}

// ended ignores that a file ends early.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// wayIn reads the tag from the first directory of a TIFF structure.
func wayIn(tiff []byte) way {
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	// The offset of the first directory (TIFF 6.0, section 2). 64 bits, so that no sum below overflows.
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return upright
	}
	entries := uint64(order.Uint16(tiff[at:]))
	for i := range entries {
		// An entry has 12 bytes: tag, type, count and value. A short value is in the first two bytes of the value.
		e := at + 2 + 12*i
		if e+12 > uint64(len(tiff)) {
			return upright
		}
		if order.Uint16(tiff[e:]) == orientationTag && order.Uint16(tiff[e+2:]) == typeShort {
			if w := way(order.Uint16(tiff[e+8:])); w >= 1 && w <= 8 {
				return w
			}
			return upright
		}
	}
	return upright
}

// turned turns a picture upright.
func turned(img *image.RGBA, as way) *image.RGBA {
	if as == upright {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if as >= 5 { // rotated by 90 degrees
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := as.moved(x, y, w, h)
			copy(out.Pix[out.PixOffset(tx, ty):][:4], img.Pix[img.PixOffset(x, y):])
		}
	}
	return out
}

// moved returns the target position of a pixel in a picture of w × h.
func (o way) moved(x, y, w, h int) (int, int) {
	switch o {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return h - 1 - y, x
	case 7:
		return h - 1 - y, w - 1 - x
	case 8:
		return y, w - 1 - x
	}
	return x, y
}
