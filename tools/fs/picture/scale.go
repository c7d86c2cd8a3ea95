package picture

import (
	"image"
	"image/draw"
	"math"
)

// strip is how many rows are converted at once.
const strip = 32

// shrunk scales img so that no side is longer than MaxSide. Each new pixel is the mean of the
// pixels that it covers. It adds up the rows one by one, because a filter that first scales the
// whole picture in one direction needs hundreds of megabytes for a large one.
func shrunk(img image.Image) *image.RGBA {
	b := img.Bounds()
	w, h := fitted(b.Dx(), b.Dy())
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if w == b.Dx() && h == b.Dy() {
		draw.Draw(out, out.Rect, img, b.Min, draw.Src)
		return out
	}
	spans, rows := spansOf(b.Dx(), w), spansOf(b.Dy(), h)
	rgba := image.NewRGBA(image.Rect(0, 0, b.Dx(), min(strip, b.Dy())))
	sum, loaded := make([]float32, w*4), -1
	line := make([]float32, w*4)
	for y, span := range rows {
		clear(sum)
		for from := span.from; from < span.to; from++ {
			// Rows only ascend, so each strip is converted once.
			if from/strip != loaded {
				loaded = from / strip
				draw.Draw(rgba, rgba.Rect, img, b.Min.Add(image.Pt(0, loaded*strip)), draw.Src)
			}
			narrow(line, rgba.Pix[from%strip*rgba.Stride:], spans)
			weight := span.weight(from)
			for i, v := range line {
				sum[i] += v * weight
			}
		}
		for i, v := range sum {
			out.Pix[y*out.Stride+i] = uint8(min(v+0.5, 255))
		}
	}
	return out
}

// fitted returns the sides of a picture after the longer one is limited to MaxSide.
func fitted(w, h int) (int, int) {
	long := max(w, h)
	if long <= MaxSide {
		return w, h
	}
	f := float64(MaxSide) / float64(long)
	return max(1, int(math.Round(float64(w)*f))), max(1, int(math.Round(float64(h)*f)))
}

// span is the range of old pixels that a new one covers, the first and the last only in part.
type span struct {
	from, to    int
	first, last float32 // weights of the two ends; all others have the weight each
	each        float32
}

// weight returns the weight of an old pixel.
func (s span) weight(i int) float32 {
	switch i {
	case s.from:
		return s.first
	case s.to - 1:
		return s.last
	}
	return s.each
}

// spansOf divides the old pixels among the new ones. The weights of each new pixel add up to 1.
func spansOf(old, made int) []span {
	ratio := float64(old) / float64(made)
	list := make([]span, made)
	for i := range list {
		lo, hi := float64(i)*ratio, float64(i+1)*ratio
		from, to := int(lo), min(old, int(math.Ceil(hi-1e-9)))
		s := span{from: from, to: to, each: float32(1 / ratio)}
		s.first = float32((math.Min(float64(from+1), hi) - lo) / ratio)
		s.last = float32((hi - math.Max(float64(to-1), lo)) / ratio)
		list[i] = s
	}
	return list
}

// narrow scales one row to the number of spans.
func narrow(line []float32, row []uint8, spans []span) {
	for x, s := range spans {
		var r, g, b, a float32
		for i := s.from; i < s.to; i++ {
			p, w := row[i*4:i*4+4:i*4+4], s.weight(i)
			r, g, b, a = r+float32(p[0])*w, g+float32(p[1])*w, b+float32(p[2])*w, a+float32(p[3])*w
		}
		line[x*4], line[x*4+1], line[x*4+2], line[x*4+3] = r, g, b, a
	}
}

// onWhite replaces transparency by white.
func onWhite(img *image.RGBA) *image.RGBA {
	out := image.NewRGBA(img.Rect)
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(out, out.Rect, img, img.Rect.Min, draw.Over)
	return out
}
