// Package all lists the kinds of accounts.
package all

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/daemon/account"
	"hob/daemon/account/caldav"
)

// Kinds returns the kinds. A new kind is a line here.
func Kinds(web caldav.Web) []account.Kind {
	return []account.Kind{calDAV(web)}
}

func calDAV(web caldav.Web) account.Kind {
	const name = "caldav"
	state := func(s caldav.Settings, err error) (account.State, error) {
		if err != nil {
			return account.State{}, err
		}
		about := account.About{User: s.User, URL: s.URL, Has: []string{}}
		for _, c := range s.Calendars {
			has := c.Name
			if !c.Write {
				has += " (read only)"
			}
			about.Has = append(about.Has, has)
		}
		about.Detail = "the server sends no invitations"
		if s.Invites {
			about.Detail = "the server sends invitations"
		}
		raw, err := json.Marshal(s) // #nosec G117 -- it goes to the vault
		return account.State{Stored: raw, Secrets: []string{s.Password}, About: about}, err
	}
	read := func(raw json.RawMessage) (s caldav.Settings, err error) {
		if err := json.Unmarshal(raw, &s); err != nil {
			return s, fmt.Errorf("read what is stored of the account: %w", err)
		}
		return s, nil
	}
	return account.Kind{
		Name: name, Fields: []account.Field{{Name: "url"}, {Name: "user"}, {Name: "password", Secret: true}},
		Connect: func(ctx context.Context, v map[string]string) (account.State, error) {
			return state(caldav.Connect(ctx, web, v["url"], v["user"], v["password"]))
		},
		Renew: func(ctx context.Context, raw json.RawMessage) (account.State, error) {
			s, err := read(raw)
			if err != nil {
				return account.State{}, err
			}
			return state(caldav.Connect(ctx, web, s.URL, s.User, s.Password))
		},
		Open: func(raw json.RawMessage) (account.Calendar, error) {
			s, err := read(raw)
			if err != nil {
				return nil, err
			}
			return caldav.Open(name, web, s)
		},
	}
}
