// Package google connects to the owner's mail and calendars at Google, by the REST interfaces of Gmail (v1) and Calendar (v3). The sign-in is that of
// package oauth, with the owner's own OAuth client and the scopes that were asked for.
//
// Everything in an answer may be hostile: sizes are bounded, and what cannot be read becomes a note. The package changes and deletes nothing that
// exists at Google, but the drafts that it makes itself.
package google

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/oauth"
	"hob/tools"
	"hob/tools/gmail"
)

// Name is the name of the account.
const Name = gmail.Account

// Settings are what hob stores about an account, beside the tokens.
type Settings struct {
	ClientID     string     `json:"client_id"`
	ClientSecret string     `json:"client_secret"`
	Mail         Access     `json:"mail"`
	Calendar     Access     `json:"calendar"`
	Address      string     `json:"address,omitempty"`
	Calendars    []Calendar `json:"calendars,omitempty"`
}

// Access says how much of a service the owner grants.
type Access string

// The accesses. Send is read and send, Write is read and write.
const (
	None  Access = "none"
	Read  Access = "read"
	Send  Access = "send"
	Write Access = "write"
)

// Calendar is one of the owner's calendars.
type Calendar struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Write bool   `json:"write"`
}

// The scopes, each the narrowest that serves (https://developers.google.com/identity/protocols/oauth2/scopes).
const (
	scopeMail      = "https://www.googleapis.com/auth/gmail.readonly"
	scopeCompose   = "https://www.googleapis.com/auth/gmail.compose"
	scopeEvents    = "https://www.googleapis.com/auth/calendar.events.readonly"
	scopeWrite     = "https://www.googleapis.com/auth/calendar.events"
	scopeCalendars = "https://www.googleapis.com/auth/calendar.calendarlist.readonly"
)

// withoutScope is the error of a sign-in that has not a scope that it was made for.
func withoutScope(scope string) error {
	return tools.Refuse(tools.Denied, "the owner gives it with: hob account login google, and ticks every box on Google's page", "the sign-in has not the scope %s", scope)
}

// withoutAccess is the error of an account that the owner gave less access.
func withoutAccess(flags, what string) error {
	return tools.Refuse(tools.Denied, "the owner allows it with: hob account add google "+flags, "the account google may %s", what)
}

// scopes are what the owner is asked for.
func (s Settings) scopes() (list []string) {
	switch s.Mail {
	case Send:
		list = append(list, scopeMail, scopeCompose)
	case Read:
		list = append(list, scopeMail)
	}
	switch s.Calendar {
	case Write:
		list = append(list, scopeCalendars, scopeWrite)
	case Read:
		list = append(list, scopeCalendars, scopeEvents)
	}
	return list
}

// New checks the values of a new account. It asks no server.
func New(v map[string]string) (Settings, error) {
	s := Settings{ClientID: strings.TrimSpace(v["client-id"]), ClientSecret: strings.TrimSpace(v["client-secret"]), Mail: Access(cmp.Or(v["mail"], "read")), Calendar: Access(cmp.Or(v["calendar"], "read"))}
	switch {
	case !slices.Contains([]Access{None, Read, Send}, s.Mail):
		return s, event.NewFault(event.Invalid, "none, read or send", "mail cannot be %q", s.Mail)
	case !slices.Contains([]Access{None, Read, Write}, s.Calendar):
		return s, event.NewFault(event.Invalid, "none, read or write", "calendar cannot be %q", s.Calendar)
	case s.Mail == None && s.Calendar == None:
		return s, event.NewFault(event.Invalid, "for example --mail read", "an account without mail and calendar is of no use")
	case !strings.HasSuffix(s.ClientID, ".apps.googleusercontent.com"):
		return s, event.NewFault(event.Invalid, "copy it from https://console.cloud.google.com/auth/clients; it ends with .apps.googleusercontent.com", "this is no client id of Google")
	}
	return s, nil
}

// Values returns the values that New made the settings of.
func (s Settings) Values() map[string]string {
	return map[string]string{"client-id": s.ClientID, "client-secret": s.ClientSecret, "mail": string(s.Mail), "calendar": string(s.Calendar)}
}

// SignIn describes the sign-in of an account (https://accounts.google.com/.well-known/openid-configuration). Without access_type=offline Google
// gives no refresh token, and without prompt=consent none but at the first time.
func SignIn(s Settings, at Place) oauth.Config {
	return oauth.Config{
		Title: "Google", Again: "hob account login google", Resource: "https://www.googleapis.com", ClientID: s.ClientID,
		ClientSecret: func(context.Context) (string, error) { return s.ClientSecret, nil },
		Provider: &oauth.Provider{
			Issuer: at.at("accounts.google.com", ""), AuthURL: at.at("accounts.google.com", "/o/oauth2/v2/auth"), TokenURL: at.at("oauth2.googleapis.com", "/token"),
			RevokeURL: at.at("oauth2.googleapis.com", "/revoke"), Scopes: s.scopes(), Params: url.Values{"access_type": {"offline"}, "prompt": {"consent"}},
		},
	}
}

// Place is the address of a server in Google's place, for tests; "": Google itself. Nothing that the owner or a program says sets it.
type Place string

// Parts are the parts of the world that an account needs.
type Parts struct {
	Web     http.RoundTripper
	SignIn  *oauth.Account
	Journal string // folder of the journal of sent mails
	Place   Place
}

// Account answers questions about the mail and the calendars of an account. It is safe for concurrent use.
type Account struct {
	Mailbox
	Agenda
	s Settings
	c *rest
}

// Open makes an account. It asks no server.
func Open(s Settings, p Parts) *Account {
	c := &rest{p}
	return &Account{Mailbox{s, c, journals(p.Journal)}, Agenda{s, c}, s, c}
}

// Check calls each interface that was granted once, and returns the settings with what it has found.
func (a *Account) Check(ctx context.Context) (Settings, error) {
	s := a.s
	state, err := a.c.SignIn.State(ctx)
	switch {
	case err != nil:
		return s, err
	case !state.SignedIn:
		return s, signIn()
	}
	for _, scope := range s.scopes() {
		if !slices.Contains(state.Scopes, scope) {
			return s, withoutScope(scope)
		}
	}
	if s.Mail != None {
		var me struct {
			Address string `json:"emailAddress"`
		}
		if err := a.c.get(ctx, mailAPI(), "/profile", nil, scopeMail, &me); err != nil {
			return s, err
		}
		s.Address = me.Address
	}
	if s.Calendar != None {
		if s.Calendars, err = a.calendars(ctx); err != nil {
			return s, err
		}
		for _, c := range s.Calendars {
			if s.Address == "" && strings.Contains(c.ID, "@") {
				s.Address = c.ID // the first calendar is the owner's own, whose id is the mail address
			}
		}
		if len(s.Calendars) > 0 { // the list needs another scope than the events
			now := time.Now()
			q := url.Values{"maxResults": {"1"}, "timeMin": {now.Format(time.RFC3339)}, "timeMax": {now.Add(time.Hour).Format(time.RFC3339)}}
			err = a.c.get(ctx, calendarAPI(), "/calendars/"+url.PathEscape(s.Calendars[0].ID)+"/events", q, scopeEvents, &struct{}{})
		}
	}
	return s, err
}

// Has lists what the account has, for people.
func (s Settings) Has() (list []string) {
	if s.Mail != None {
		list = append(list, "mail ("+string(s.Mail)+")")
	}
	for _, c := range s.Calendars {
		has := c.Name
		if !c.Write || s.Calendar != Write {
			has += " (read only)"
		}
		list = append(list, has)
	}
	return list
}

// HasCalendar reports whether the owner has granted calendars.
func (a Agenda) HasCalendar() bool { return a.s.Calendar != None }
