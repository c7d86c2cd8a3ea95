package all

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"

	"hob/daemon/account"
	"hob/daemon/account/caldav"
	"hob/daemon/account/google"
	"hob/daemon/oauth"
)

// Google is what the kind google needs beside a way to the web.
type Google struct {
	State string // hob's folder, for what must survive a crash
	Place string // the address of a server in Google's place, for tests; "": Google itself
}

// googleKind is the owner's mail and calendars at Google.
func googleKind(web caldav.Web, g Google) account.Kind {
	save := func(s google.Settings) (account.State, error) {
		raw, err := json.Marshal(s) // #nosec G117 -- it goes to the vault
		about := account.About{User: s.Address, URL: "Google", Has: s.Has()}
		return account.State{Stored: raw, Secrets: []string{s.ClientSecret}, About: about}, err
	}
	open := func(raw json.RawMessage, signIn *oauth.Account) (*google.Account, error) {
		s, err := read[google.Settings](raw)
		if err != nil {
			return nil, err
		}
		trip, err := web(host(g.Place))
		return google.Open(s, google.Parts{Web: trip, SignIn: signIn, Journal: filepath.Join(g.State, "mail"), Place: google.Place(g.Place)}), err
	}
	return account.Kind{
		Name: google.Name, Calendar: true,
		Fields: []account.Field{{Name: "client-id"}, {Name: "client-secret", Secret: true}, {Name: "mail", Optional: true}, {Name: "calendar", Optional: true}},
		Connect: func(_ context.Context, v map[string]string) (account.State, error) {
			s, err := google.New(v)
			if err != nil {
				return account.State{}, err
			}
			return save(s)
		},
		Linked: &account.Linked{
			Values: func(raw json.RawMessage) map[string]string {
				s, err := read[google.Settings](raw)
				if err != nil {
					return map[string]string{}
				}
				return s.Values()
			},
			Config: func(raw json.RawMessage) (oauth.Config, error) {
				s, err := read[google.Settings](raw)
				if err != nil {
					return oauth.Config{}, err
				}
				trip, err := web(host(g.Place))
				c := google.SignIn(s, google.Place(g.Place))
				c.HTTP = &http.Client{Transport: trip}
				return c, err
			},
			Renew: func(ctx context.Context, raw json.RawMessage, signIn *oauth.Account) (account.State, error) {
				a, err := open(raw, signIn)
				if err != nil {
					return account.State{}, err
				}
				s, err := a.Check(ctx)
				if err != nil {
					return account.State{}, err
				}
				return save(s)
			},
			Open: func(raw json.RawMessage, signIn *oauth.Account) (any, error) { return open(raw, signIn) },
		},
	}
}

// host is the host that may be on this machine.
func host(place string) string {
	u, err := url.Parse(place)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
