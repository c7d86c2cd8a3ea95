// Package all lists the kinds of accounts.
package all

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/daemon/account"
	"hob/daemon/account/caldav"
	"hob/daemon/netguard"
	"hob/tools"
	"hob/tools/anthropic"
	"hob/tools/gmail"
	"hob/tools/linkedin"
)

// Kinds returns the kinds. A new kind is a line here. client makes a guarded client by the config of that moment.
func Kinds(web caldav.Web, client func() *netguard.Client, g Google) []account.Kind {
	return []account.Kind{calDAV(web), usage(client), linkedIn(client), googleKind(web, g)}
}

// Mail is the account for the mail tools.
func Mail(s *account.Service) tools.Account[gmail.Mailbox] {
	return account.One[gmail.Mailbox]{Service: s, Name: gmail.Account}
}

// Usage is the account for the tool anthropic_usage.
func Usage(s *account.Service) tools.Account[*anthropic.Client] {
	return account.One[*anthropic.Client]{Service: s, Name: anthropic.Account}
}

// LinkedIn is the account that switches the tools for LinkedIn on.
func LinkedIn(s *account.Service) tools.Account[*linkedin.Client] {
	return account.One[*linkedin.Client]{Service: s, Name: linkedin.Account}
}

// read reads what is stored of an account.
func read[T any](raw json.RawMessage) (s T, err error) {
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read what is stored of the account: %w", err)
	}
	return s, nil
}

// renewed connects again with what is stored.
func renewed[T any](connect func(context.Context, T) (account.State, error)) func(context.Context, json.RawMessage) (account.State, error) {
	return func(ctx context.Context, raw json.RawMessage) (account.State, error) {
		s, err := read[T](raw)
		if err != nil {
			return account.State{}, err
		}
		return connect(ctx, s)
	}
}

// address checks the address of a site that the owner names in place of the usual one.
func address(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	link, host, err := netguard.Canonical(raw)
	switch {
	case err != nil:
		return "", tools.Refuse(tools.Validation, "for example https://api.example.org", "url: %v", err)
	case strings.HasPrefix(link, "http:") && !netguard.Private(host):
		return "", tools.Refuse(tools.Validation, "use https", "%s would be asked unencrypted", host)
	}
	return strings.TrimRight(link, "/"), nil
}

// usage is the admin key for the reports of Anthropic.
func usage(client func() *netguard.Client) account.Kind {
	connect := func(ctx context.Context, s anthropic.Settings) (account.State, error) {
		may, not, err := anthropic.Connect(ctx, client(), s, anthropic.Day(time.Now()))
		if err != nil {
			return account.State{}, err
		}
		about := account.About{URL: cmp.Or(s.URL, "Anthropic"), Has: may, Detail: "it may read every report"}
		if len(not) > 0 {
			about.Detail = strings.Join(not, "; ")
		}
		raw, err := json.Marshal(s) // #nosec G117 -- it goes to the vault
		return account.State{Stored: raw, Secrets: []string{s.Key}, About: about}, err
	}
	return account.Kind{
		Name: anthropic.Account, Fields: []account.Field{{Name: "key", Secret: true}, {Name: "url", Optional: true}},
		Connect: func(ctx context.Context, v map[string]string) (account.State, error) {
			link, err := address(v["url"])
			if err != nil {
				return account.State{}, err
			}
			return connect(ctx, anthropic.Settings{Key: v["key"], URL: link})
		},
		Renew: renewed(connect),
		Open: func(raw json.RawMessage) (any, error) {
			s, err := read[anthropic.Settings](raw)
			return anthropic.Open(client(), s), err
		},
	}
}

// linkedIn has no credential: it exists so that the owner switches the tools on.
func linkedIn(client func() *netguard.Client) account.Kind {
	connect := func(ctx context.Context, s linkedin.Settings) (account.State, error) {
		if err := linkedin.Connect(ctx, client(), s); err != nil {
			return account.State{}, err
		}
		raw, err := json.Marshal(s)
		return account.State{Stored: raw, About: account.About{
			URL: cmp.Or(s.URL, "LinkedIn"), Has: []string{"public job offers"}, Detail: "nobody is signed in; LinkedIn's terms forbid automated access, so you decide whether to use it",
		}}, err
	}
	return account.Kind{
		Name: linkedin.Account, Fields: []account.Field{{Name: "url", Optional: true}},
		Connect: func(ctx context.Context, v map[string]string) (account.State, error) {
			link, err := address(v["url"])
			if err != nil {
				return account.State{}, err
			}
			return connect(ctx, linkedin.Settings{URL: link})
		},
		Renew: renewed(connect),
		Open: func(raw json.RawMessage) (any, error) {
			s, err := read[linkedin.Settings](raw)
			return linkedin.Open(client(), s), err
		},
	}
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
	connect := func(ctx context.Context, s caldav.Settings) (account.State, error) {
		return state(caldav.Connect(ctx, web, s.URL, s.User, s.Password))
	}
	return account.Kind{
		Name: name, Calendar: true, Fields: []account.Field{{Name: "url"}, {Name: "user"}, {Name: "password", Secret: true}},
		Connect: func(ctx context.Context, v map[string]string) (account.State, error) {
			return connect(ctx, caldav.Settings{URL: v["url"], User: v["user"], Password: v["password"]})
		},
		Renew: renewed(connect),
		Open: func(raw json.RawMessage) (any, error) {
			s, err := read[caldav.Settings](raw)
			if err != nil {
				return nil, err
			}
			return caldav.Open(name, web, s)
		},
	}
}
