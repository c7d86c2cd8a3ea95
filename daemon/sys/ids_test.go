package sys_test

import (
	"bytes"
	"strings"
	"testing"

	"hob/daemon/sys"
)

func TestCode(t *testing.T) {
	seen := map[string]bool{}
	for range 2000 {
		code := sys.RandomIDs().Code(10)
		if len(code) != 10 || seen[code] || strings.ContainsAny(code, "ilouILOU") || code != strings.ToLower(code) {
			t.Fatalf("code %q", code)
		}
		seen[code] = true
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text := sys.IDsFrom(bytes.NewReader(all)).Code(256)
	for c := range strings.SplitSeq(text, "") {
		if n := strings.Count(text, c); n != 8 {
			t.Errorf("%q comes %d times out of 256: the letters must be equally likely", c, n)
		}
	}
	a, b := sys.IDsFrom(bytes.NewReader(all)), sys.IDsFrom(bytes.NewReader(all))
	if x, y := a.Code(8)+a.Code(8), b.Code(16); x != y {
		t.Errorf("%s and %s out of the same bytes", x, y)
	}
}

func TestNoRandomnessPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a code was made of nothing")
		}
	}()
	sys.IDsFrom(strings.NewReader("ab")).Code(3)
}

func TestDigest(t *testing.T) {
	if a, b := sys.Digest("/home/sam/.hob"), sys.Digest("/home/sam/.hob2"); a == b || len(a) != 8 || a != sys.Digest("/home/sam/.hob") {
		t.Errorf("digests %s and %s", a, b)
	}
}
