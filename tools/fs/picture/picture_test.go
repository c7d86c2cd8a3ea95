package picture_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"golang.org/x/image/bmp"
	"pgregory.net/rapid"

	"hob/tools/fs/picture"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// corners is a picture whose upper left quarter is red, upper right green, lower left blue and lower right white.
func corners(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i, c := range []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 255, 255}} {
		x, y := i%2*w/2, i/2*h/2
		draw.Draw(img, image.Rect(x, y, x+(w+1)/2, y+(h+1)/2), image.NewUniform(c), image.Point{}, draw.Src)
	}
	return img
}

func encoded(t testing.TB, format string, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	switch format {
	case "png":
		must(t, png.Encode(&b, img))
	case "jpeg":
		must(t, jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}))
	case "gif":
		flat := image.NewPaletted(img.Bounds(), palette.WebSafe)
		draw.Draw(flat, flat.Rect, img, img.Bounds().Min, draw.Src)
		must(t, gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{flat, flat}, Delay: []int{1, 1}}))
	case "bmp":
		must(t, bmp.Encode(&b, img))
	case "webp": // one pixel: nothing here can write more
		raw, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
		must(t, err)
		return raw
	}
	return b.Bytes()
}

func fit(t testing.TB, raw []byte) (picture.Shown, error) {
	t.Helper()
	return picture.Fit(bytes.NewReader(raw), int64(len(raw)))
}

// at is the colour of a point of what is shown, given in tenths of its sides.
func at(t testing.TB, s picture.Shown, x, y int) color.RGBA {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(s.Data))
	must(t, err)
	b := img.Bounds()
	if b.Dx() != s.Width || b.Dy() != s.Height {
		t.Fatalf("%v, said to be %d × %d", b, s.Width, s.Height)
	}
	c, ok := color.RGBAModel.Convert(img.At(b.Min.X+b.Dx()*x/10, b.Min.Y+b.Dy()*y/10)).(color.RGBA)
	if !ok {
		t.Fatal("no colour")
	}
	return c
}

// alike says whether two colours are alike; JPEG changes them a little.
func alike(a, b color.RGBA) bool {
	near := func(x, y uint8) bool { return max(x, y)-min(x, y) < 12 }
	return near(a.R, b.R) && near(a.G, b.G) && near(a.B, b.B) && near(a.A, b.A)
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		name, format string
		w, h         int
		mime         string
		sw, sh       int
		same         bool // the bytes are the file's
	}{
		{"small", "png", 40, 20, "image/png", 40, 20, true},
		{"as large as can be", "png", 2000, 10, "image/png", 2000, 10, true},
		{"a little too wide", "png", 2001, 100, "image/png", 2000, 100, false},
		{"wide", "png", 4000, 1000, "image/png", 2000, 500, false},
		{"high", "jpeg", 1000, 4000, "image/jpeg", 500, 2000, false},
		{"a small photograph", "jpeg", 64, 48, "image/jpeg", 64, 48, true},
		{"a line", "png", 6000, 1, "image/png", 2000, 1, false},
		{"moving", "gif", 30, 30, "image/png", 30, 30, false},
		{"bmp", "bmp", 30, 20, "image/png", 30, 20, false},
		{"webp", "webp", 1, 1, "image/webp", 1, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := encoded(t, c.format, corners(c.w, c.h))
			s, err := fit(t, raw)
			if err != nil || s.MIME != c.mime || s.Width != c.sw || s.Height != c.sh || s.From.Format != c.format || s.From.Width != c.w || s.From.Height != c.h {
				t.Fatalf("%v %s %d × %d %+v", err, s.MIME, s.Width, s.Height, s.From)
			}
			if bytes.Equal(s.Data, raw) != c.same || s.Changed() == c.same {
				t.Errorf("the file's bytes: %v, changed: %v", bytes.Equal(s.Data, raw), s.Changed())
			}
			if c.h < 10 {
				return
			}
			for _, p := range []struct {
				x, y int
				want color.RGBA
			}{{2, 2, color.RGBA{255, 0, 0, 255}}, {8, 2, color.RGBA{0, 255, 0, 255}}, {2, 8, color.RGBA{0, 0, 255, 255}}, {8, 8, color.RGBA{255, 255, 255, 255}}} {
				if got := at(t, s, p.x, p.y); !alike(got, p.want) {
					t.Errorf("%d, %d: %v, want %v", p.x, p.y, got, p.want)
				}
			}
		})
	}
}

// Each new pixel is the mean of those that it covers: fine stripes become grey, none of them wins.
func TestShrinkingTakesMeans(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 4000, 40))
	for i := range img.Pix {
		img.Pix[i] = uint8(i % 2 * 200) // columns of 0 and 200 in turn
	}
	s, err := fit(t, encoded(t, "png", img))
	must(t, err)
	for x := range 10 {
		if got := at(t, s, x, 5); got != (color.RGBA{100, 100, 100, 255}) {
			t.Fatalf("at %d: %v", x, got)
		}
	}
}

// A picture of one colour keeps it, whatever its sides are.
func TestShrinkingKeepsAColour(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, h := rapid.IntRange(2001, 4500).Draw(rt, "w"), rapid.IntRange(1, 3).Draw(rt, "h")
		want := color.RGBA{rapid.Uint8().Draw(rt, "r"), rapid.Uint8().Draw(rt, "g"), rapid.Uint8().Draw(rt, "b"), 255}
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.Draw(img, img.Rect, image.NewUniform(want), image.Point{}, draw.Src)
		s, err := fit(t, encoded(t, "png", img))
		if err != nil || s.Width != 2000 {
			rt.Fatal(err, s.Width)
		}
		shown, err := png.Decode(bytes.NewReader(s.Data))
		must(t, err)
		for x := range s.Width {
			for y := range s.Height {
				if got := color.RGBAModel.Convert(shown.At(x, y)); got != want {
					rt.Fatalf("%d × %d, at %d, %d: %v, want %v", w, h, x, y, got, want)
				}
			}
		}
	})
}

func TestTransparencyIsKept(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 3000, 30))
	draw.Draw(img, image.Rect(0, 0, 1500, 30), image.NewUniform(color.NRGBA{255, 0, 0, 128}), image.Point{}, draw.Src)
	s, err := fit(t, encoded(t, "png", img))
	must(t, err)
	if left, right := at(t, s, 2, 5), at(t, s, 8, 5); !alike(left, color.RGBA{128, 0, 0, 128}) || right.A != 0 {
		t.Errorf("%v %v", left, right)
	}
}

// turnedJPEG is a JPEG file with an EXIF segment for the orientation.
func turnedJPEG(t testing.TB, order binary.AppendByteOrder, way uint16, img image.Image) []byte {
	t.Helper()
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2) // entries: the width of the picture, then the orientation
	for _, e := range [][2]uint16{{0x0100, 40}, {0x0112, way}} {
		tiff = order.AppendUint16(tiff, e[0])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, e[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	raw := encoded(t, "jpeg", img)
	out := append([]byte{}, raw[:2]...)
	out = append(out, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xe1) // another segment before it
	out = append(out, 0, byte(len(segment)+2))            // #nosec G115 -- a few dozen
	return append(append(out, segment...), raw[2:]...)
}

func TestOrientation(t *testing.T) {
	red, green, blue, white := color.RGBA{255, 0, 0, 255}, color.RGBA{0, 255, 0, 255}, color.RGBA{0, 0, 255, 255}, color.RGBA{255, 255, 255, 255}
	// What stands at the upper left, the upper right and the lower left once the picture is upright (CIPA DC-008, 4.6.4).
	for way, want := range map[uint16][3]color.RGBA{
		1: {red, green, blue}, 2: {green, red, white}, 3: {white, blue, green}, 4: {blue, white, red},
		5: {red, blue, green}, 6: {blue, red, white}, 7: {white, green, blue}, 8: {green, white, red},
		0: {red, green, blue}, 9: {red, green, blue},
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			s, err := fit(t, turnedJPEG(t, order, way, corners(80, 40)))
			must(t, err)
			if side := way >= 5 && way <= 8; s.Width == 40 != side {
				t.Fatalf("way %d: %d × %d", way, s.Width, s.Height)
			}
			if got := [3]color.RGBA{at(t, s, 2, 2), at(t, s, 8, 2), at(t, s, 2, 8)}; !alike(got[0], want[0]) || !alike(got[1], want[1]) || !alike(got[2], want[2]) {
				t.Errorf("way %d: %v, want %v", way, got, want)
			}
		}
	}
}

// claims is the beginning of a PNG file that claims to be so large.
func claims(w, h uint32, depth byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), w)
	head = binary.BigEndian.AppendUint32(head, h)
	head = append(head, depth, 2, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	return binary.BigEndian.AppendUint32(append(out, head...), crc32.ChecksumIEEE(head))
}

func TestFitRefuses(t *testing.T) {
	good := encoded(t, "png", corners(100, 100))
	for name, c := range map[string]struct {
		raw  []byte
		kind error
	}{
		"nothing":               {nil, picture.ErrFormat},
		"text":                  {[]byte("hello, I am no picture"), picture.ErrFormat},
		"only a beginning":      {good[:8], picture.ErrFormat},
		"cut off":               {good[:len(good)-40], picture.ErrFormat},
		"a bomb":                {claims(60_000, 60_000, 8), picture.ErrLarge},
		"a thin bomb":           {claims(2_000_000_000, 1, 8), picture.ErrLarge},
		"a bomb of deep colour": {claims(8000, 6000, 16), picture.ErrLarge},
		"large, but not there":  {claims(5120, 2880, 8), picture.ErrFormat},
		"S7: deep":              {claims(5000, 5000, 16), picture.ErrLarge},
		"S7: many pixels":       {claims(8192, 6144, 8), picture.ErrLarge},
		"no pixels":             {claims(0, 5, 8), picture.ErrFormat},
		"only RIFF":             {[]byte("RIFF\x04\x00\x00\x00WEBP"), picture.ErrFormat},
	} {
		if s, err := fit(t, c.raw); !errors.Is(err, c.kind) || s.Data != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := picture.Fit(bytes.NewReader(good), 65<<20); !errors.Is(err, picture.ErrLarge) {
		t.Error(err)
	}
}

// A picture that would be too many bytes as PNG is shown as JPEG, on white.
func TestWhatIsTooManyBytesIsShownAsJPEG(t *testing.T) {
	if testing.Short() {
		t.Skip("encodes a large picture of noise several times")
	}
	img := image.NewNRGBA(image.Rect(0, 0, 1500, 1000))
	seed := uint32(1)
	for i := range img.Pix {
		seed = seed*1664525 + 1013904223
		img.Pix[i] = uint8(seed >> 24)
	}
	draw.Draw(img, image.Rect(0, 0, 1500, 100), image.Transparent, image.Point{}, draw.Src)
	s, err := fit(t, encoded(t, "png", img))
	if err != nil || s.MIME != "image/jpeg" || len(s.Data) > 3_500_000 || s.Width != 1500 {
		t.Fatalf("%v %s, %d bytes", err, s.MIME, len(s.Data))
	}
	if got := at(t, s, 5, 0); !alike(got, color.RGBA{255, 255, 255, 255}) {
		t.Errorf("%v", got)
	}
}

// For any file, the shown picture can be decoded and is not too large.
func FuzzFit(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif", "bmp", "webp"} {
		f.Add(encoded(f, format, corners(9, 7)))
	}
	f.Add(turnedJPEG(f, binary.BigEndian, 6, corners(8, 8)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := fit(t, raw)
		if err != nil {
			if !errors.Is(err, picture.ErrFormat) && !errors.Is(err, picture.ErrLarge) {
				t.Fatal(err)
			}
			return
		}
		img, _, err := image.Decode(bytes.NewReader(s.Data))
		if err != nil || max(img.Bounds().Dx(), img.Bounds().Dy()) > picture.MaxSide || img.Bounds().Dx() != s.Width {
			t.Fatal(err, img.Bounds(), s.Width)
		}
	})
}
