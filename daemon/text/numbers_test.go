package text_test

import (
	"testing"

	"hob/daemon/text"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", -999: "-999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := text.Thousands(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	for micros, want := range map[int64]string{0: "0.00", 5_000_000: "5.00", 5_001_000: "5.001", 1: "0.000001", 12_500: "0.0125", 100_000: "0.10", -1_000_000: "-1.00"} {
		if got := text.Money(micros); got != want {
			t.Errorf("%d is %q", micros, got)
		}
	}
}
