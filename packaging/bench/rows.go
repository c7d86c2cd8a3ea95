//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// rows is the table, in the order of the page.
// An anchor is a minimal piece of the same kind of work. Ratios to it can be compared between machines.
func rows() []row {
	return slices.Concat(startRows(), restRows(), turnRows(), largeRows(), toolRows())
}

// startRows are a process that starts.
func startRows() []row {
	return []row{
		{name: "exec to the ready line", unit: "ms", anchor: "exec of `true`", goal: 10, rounds: 20, open: starts(func(_ context.Context, d *daemon) (time.Duration, error) { return d.ready, nil })},
		{name: "exec to `/healthz` 200", unit: "ms", anchor: "exec of `true`", goal: 10, rounds: 20, open: starts(func(ctx context.Context, d *daemon) (time.Duration, error) { return d.healthy(ctx) })},
		{name: "CPU of `hob version`", unit: "ms", goal: 5, rounds: 20, open: command},
	}
}

// turnRows are the work of a turn.
func turnRows() []row {
	return []row{
		{name: "one turn over the socket", unit: "ms", anchor: "10 × fdatasync", goal: 2.8, rounds: 200, open: turns(true, conversation.wall)},
		{name: "the same, 99 of 100", unit: "ms", anchor: "10 × fdatasync", goal: 5.6, rounds: 500, at: 0.99, open: turns(true, conversation.wall)},
		{name: "CPU of one turn", unit: "ms", anchor: "10 × fdatasync", goal: 2.8, rounds: 200, open: turns(true, conversation.work)},
		{name: "one turn of the built-in interpreter", unit: "ms", anchor: "10 × fdatasync", goal: 2.8, rounds: 200, open: turns(false, conversation.wall)},
		{name: "turn 100 of a conversation", unit: "ms", anchor: "turn 1 to 5", goal: 1.2, rounds: 5, open: hundredth},
	}
}

// starts measures daemons from their start, each with the same home.
// Only the first round makes the files of a new home, and that round does not count.
func starts(figure func(context.Context, *daemon) (time.Duration, error)) func(context.Context, *lab) (measurement, error) {
	return func(_ context.Context, l *lab) (measurement, error) {
		home, err := l.home("")
		return measurement{beside: took("", "true"), job: func(ctx context.Context) (float64, error) {
			d, err := l.start(ctx, home)
			if err != nil {
				return 0, err
			}
			v, err := figure(ctx, d)
			return ms(v), errors.Join(err, d.stop())
		}}, err
	}
}

// command measures the CPU time of a command that needs no daemon.
func command(_ context.Context, l *lab) (measurement, error) {
	return measurement{job: used(l.hob, "version")}, nil
}

// turns measures one turn after the other in conversations of ten turns, beside ten durable writes of 4 KB.
// A new conversation after ten turns keeps the history short, so that later rounds are not slower.
func turns(model bool, figure func(c conversation, ctx context.Context, session string) (float64, error)) func(context.Context, *lab) (measurement, error) {
	return func(ctx context.Context, l *lab) (m measurement, err error) {
		c, err := l.converse(ctx, model)
		if err != nil {
			return m, err
		}
		beside, closed, err := l.syncs()
		n := 0
		return measurement{beside: beside, job: func(ctx context.Context) (float64, error) {
			n++
			return figure(*c, ctx, fmt.Sprint("s", n/10))
		}, close: func() error { return errors.Join(c.end(), closed()) }}, err
	}
}

// wall is the time of one turn.
func (c conversation) wall(ctx context.Context, session string) (float64, error) {
	return c.say(ctx, session)
}

// work is the daemon's CPU time for one turn.
// The model server is not in it: it runs in this process.
func (c conversation) work(ctx context.Context, session string) (float64, error) {
	before, err := c.cpu()
	if err != nil {
		return 0, err
	}
	if _, err := c.say(ctx, session); err != nil {
		return 0, err
	}
	after, err := c.cpu()
	return ms(after - before), err
}

// hundredth measures turns 96 to 100 of a conversation beside its first five.
func hundredth(ctx context.Context, l *lab) (m measurement, err error) {
	c, err := l.converse(ctx, true)
	if err != nil {
		return m, err
	}
	// n numbers the conversations. beside begins a new one in each round, and job continues it.
	n := 0
	five := func(ctx context.Context) (float64, error) {
		var list []float64
		for range 5 {
			v, err := c.say(ctx, fmt.Sprint("long", n))
			if err != nil {
				return 0, err
			}
			list = append(list, v)
		}
		return quantile(list, 0.5), nil
	}
	return measurement{beside: func(ctx context.Context) (float64, error) {
		n++
		return five(ctx)
	}, job: func(ctx context.Context) (float64, error) {
		for range 90 {
			if _, err := c.say(ctx, fmt.Sprint("long", n)); err != nil {
				return 0, err
			}
		}
		return five(ctx)
	}, close: c.end}, nil
}
