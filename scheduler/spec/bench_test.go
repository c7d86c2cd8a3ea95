package spec_test

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func BenchmarkNext(b *testing.B) {
	z := zone(b, "Europe/Berlin")
	now := time.Date(2027, 7, 1, 9, 30, 0, 0, time.UTC) // not the stretch that package time keeps at hand
	for _, text := range []string{"0 9 * * 1-5", "*/5 * * * *", "0 0 29 2 *"} {
		s := parse(b, "cron "+text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Next(now, z, now)
			}
		})
		robfig, err := cron.ParseStandard(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("robfig "+text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				robfig.Next(now.In(z))
			}
		})
	}
}
