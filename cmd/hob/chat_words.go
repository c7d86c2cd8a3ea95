package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// offers returns what Tab completes in a conversation: chat commands, and after a word the names of jobs, watches, sessions, tools and open
// questions.
func offers(ctx context.Context, c *client.Client) func(line string) []string {
	commands := strings.Fields("/answer /approve /attach /cancel /capabilities /clean /compact /deny /exit /help /jobs /model /new /queue /quiet /quit /retry /sessions /status /stop /usage /why")
	return func(line string) []string {
		if !strings.Contains(line, " ") {
			return commands
		}
		// A slow daemon must not hold the typing up.
		ctx, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		return names(ctx, c)
	}
}

// names lists the names of what the owner has. A list that cannot be read offers nothing.
func names(ctx context.Context, c *client.Client) []string {
	var list []string
	f := client.Filter{Limit: 200}
	add := func(name string) { list = append(list, name) }
	if rows, err := client.List(ctx, c, api.Jobs, f); err == nil {
		for _, r := range rows {
			add(r.Name)
		}
	}
	if rows, err := client.List(ctx, c, api.Watches, f); err == nil {
		for _, r := range rows {
			add(r.Name)
		}
	}
	if rows, err := client.List(ctx, c, api.Sessions, f); err == nil {
		for _, r := range rows {
			add(r.Key)
		}
	}
	if rows, err := client.List(ctx, c, api.Questions, client.Filter{State: "open", Limit: 200}); err == nil {
		for _, r := range rows {
			add(r.Code)
		}
	}
	return list
}

// conversations returns the function that lists the conversations of the owner, the newest first.
func conversations(ctx context.Context, c *client.Client) func() ([]console.Choice, error) {
	return func() ([]console.Choice, error) {
		rows, err := client.List(ctx, c, api.Sessions, client.Filter{State: "live", Limit: 20})
		if err != nil {
			return nil, fmt.Errorf("list the conversations: %w", err)
		}
		list := make([]console.Choice, len(rows))
		for i, r := range rows {
			list[i] = console.Choice{Key: r.Key, Title: r.Title, Turns: r.Turns}
		}
		return list, nil
	}
}
