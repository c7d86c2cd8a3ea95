package phrase

import (
	"fmt"
	"time"

	"hob/scheduler/spec"
)

// withinHours reads the hours and days that limit a period: "between 9am and 5pm", "from 9 to 17 on weekdays". A period in minutes
// ends when the last hour begins; a period in hours includes the last hour. is reports whether hours come next.
func withinHours(p *parser, period time.Duration) (s spec.Spec, is bool, err error) {
	mark := p.in.pos
	between, from := p.in.take("between"), p.in.take("from")
	var set *dayset
	if !between && !from {
		// The days may come first: "on weekdays between 9 and 17". Without hours after them, they belong to another form.
		set, err = p.days.recurring()
		if between, from = p.in.take("between"), p.in.take("from"); err != nil || set == nil || !between && !from {
			p.in.pos = mark
			return spec.Spec{}, false, nil
		}
	}
	first, ok, err := p.in.clock(true)
	if err != nil || !ok {
		p.in.pos = mark
		return spec.Spec{}, false, err
	}
	// Without a second hour this is another form: give the words back.
	if between && !p.in.take("and") || !between && !p.in.takeAny("to", "until", "till", "-", "–") {
		p.in.pos = mark
		return spec.Spec{}, false, nil
	}
	last, ok, err := p.in.clock(true)
	if err != nil || !ok {
		return spec.Spec{}, true, p.in.unclearEnd("until when, e.g. between 9 and 17")
	}
	if !last.sure && last.hour < 12 && last.hour <= first.hour && first.hour < last.hour+12 { // "from 9 to 5"
		last.hour += 12
		p.in.assumed = append(p.in.assumed, fmt.Sprintf("%d:00 is assumed as the end", last.hour))
	}
	if first.seconds()%3600 != 0 || last.seconds()%3600 != 0 || first.hour >= last.hour {
		return spec.Spec{}, true, p.in.unclear("these are not full hours of one day, the earlier one first: write them as 9 and 17")
	}
	// Cron's fields can only count periods that divide the hour or the day.
	times := ""
	switch minutes, hours := int(period/time.Minute), int(period/time.Hour); {
	case period == time.Hour:
		times = fmt.Sprintf("0 %d-%d", first.hour, last.hour)
	case period%time.Hour == 0 && hours < 24:
		times = fmt.Sprintf("0 %d-%d/%d", first.hour, last.hour, hours)
	case period%time.Minute == 0 && period < time.Hour && 60%minutes == 0:
		times = fmt.Sprintf("*/%d %d-%d", minutes, first.hour, last.hour-1)
	default:
		return spec.Spec{}, true, p.in.unclear("this period does not fit into hours: the fields of cron can say more")
	}
	// The days may follow: "between 9 and 17 on weekdays". Without any, all days count.
	if set == nil {
		set, err = p.days.recurring()
	}
	switch {
	case err != nil:
		return spec.Spec{}, true, err
	case set == nil:
		set = &dayset{}
	case set.every > 0:
		return spec.Spec{}, true, p.in.unclear("hours go together with the days of a week or a month only")
	}
	s, err = spec.Parse("cron " + times + set.String())
	return s, true, err
}
