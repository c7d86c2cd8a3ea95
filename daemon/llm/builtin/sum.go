package builtin

import (
	"math"
	"strconv"
	"strings"
)

// maxSum limits the length of a sum, and with it the depth of its parentheses.
const maxSum = 100

// sum calculates "2+2" and "(3 + 4) * 1.5". It returns false for a text that is not a sum of at least two numbers, and without a finite
// result.
func sum(text string) (string, bool) {
	text = strings.TrimRight(strings.NewReplacer(" ", "", "x", "*", "×", "*", "·", "*", "÷", "/", "−", "-", "plus", "+", "minus", "-", "times", "*").Replace(text), "=?")
	if len(text) > maxSum || !strings.ContainsAny(text, "+-*/") || strings.Trim(text, "0123456789.+-*/()") != "" {
		return "", false
	}
	c := calculation{text}
	v, ok := c.terms()
	if _, err := strconv.ParseFloat(text, 64); err == nil || !ok || c.rest != "" || math.IsInf(v, 0) || math.IsNaN(v) {
		return "", false
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64), true
}

// calculation reads a sum from the left. rest is what is not read yet.
type calculation struct{ rest string }

// take steps over one of the signs and returns it, 0 if none comes next.
func (c *calculation) take(signs string) byte {
	if c.rest == "" || !strings.ContainsRune(signs, rune(c.rest[0])) {
		return 0
	}
	sign := c.rest[0]
	c.rest = c.rest[1:]
	return sign
}

// terms reads factors with + and - between them.
func (c *calculation) terms() (float64, bool) {
	v, ok := c.factors()
	for ok {
		sign := c.take("+-")
		if sign == 0 {
			break
		}
		var next float64
		if next, ok = c.factors(); sign == '-' {
			next = -next
		}
		v += next
	}
	return v, ok
}

// factors reads numbers with * and / between them.
func (c *calculation) factors() (float64, bool) {
	v, ok := c.number()
	for ok {
		sign := c.take("*/")
		if sign == 0 {
			break
		}
		var next float64
		if next, ok = c.number(); sign == '/' {
			v /= next
		} else {
			v *= next
		}
	}
	return v, ok
}

// number reads a number, or a sum in parentheses, with a minus before it or not.
func (c *calculation) number() (float64, bool) {
	if c.take("-") != 0 {
		v, ok := c.number()
		return -v, ok
	}
	if c.take("(") != 0 {
		v, ok := c.terms()
		return v, ok && c.take(")") != 0
	}
	n := len(c.rest) - len(strings.TrimLeft(c.rest, "0123456789."))
	v, err := strconv.ParseFloat(c.rest[:n], 64)
	c.rest = c.rest[n:]
	return v, err == nil
}
