package caldav

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// Limits of what is kept of a server's calendars.
const (
	maxCalendars = 50
	maxName      = 100
)

// Calendar is a calendar of the account.
type Calendar struct {
	URL   string `json:"url"`
	Name  string `json:"name"`
	Write bool   `json:"write"`
}

// start returns the address that discovery begins with: the owner's, or for a domain or a mail address the one that RFC 6764 finds.
func start(ctx context.Context, given string, lookup srvLookup) (string, error) {
	given = strings.TrimSpace(given)
	if !strings.Contains(given, "://") {
		domain := given[strings.LastIndex(given, "@")+1:]
		if strings.ContainsAny(domain, "/:") {
			return encrypted("https://" + domain)
		}
		return byDomain(ctx, domain, lookup)
	}
	return encrypted(given)
}

// srvLookup finds SRV records; tests replace it.
type srvLookup func(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)

// byDomain asks DNS for the server of a domain. The answer is not proven, so a server outside the domain gets no password: the owner names it himself.
func byDomain(ctx context.Context, domain string, lookup srvLookup) (string, error) {
	if _, list, err := lookup(ctx, "caldavs", "tcp", domain); err == nil && len(list) > 0 {
		target := strings.TrimSuffix(list[0].Target, ".")
		if target != domain && !strings.HasSuffix(target, "."+domain) {
			return "", tools.Refuse(tools.Denied, "if you trust it, give --url https://"+text.Shorten(target, 100)+"/", "DNS names %s as the server of %s", text.Shorten(target, 100), domain)
		}
		return encrypted("https://" + net.JoinHostPort(target, strconv.Itoa(int(list[0].Port))) + "/.well-known/caldav")
	}
	return encrypted("https://" + domain + "/.well-known/caldav")
}

// encrypted checks an address. Without encryption a password may go only to a host in a private network.
func encrypted(raw string) (string, error) {
	link, name, err := netguard.Canonical(raw)
	if err != nil {
		return "", tools.Refuse(tools.Validation, "for example https://dav.example.org/ or anna@example.org", "url: %v", err)
	}
	if strings.HasPrefix(link, "http:") && !netguard.Private(name) {
		return "", tools.Refuse(tools.Validation, "use https", "%s would get the password unencrypted", name)
	}
	return link, nil
}

// What PROPFIND asks for, see RFC 5397, RFC 4791 and RFC 6638.
const (
	namespaces   = ` xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"`
	askPrincipal = `<D:propfind` + namespaces + `><D:prop><D:current-user-principal/></D:prop></D:propfind>`
	askHome      = `<D:propfind` + namespaces + `><D:prop><C:calendar-home-set/><C:calendar-user-address-set/></D:prop></D:propfind>`
	askCalendars = `<D:propfind` + namespaces + `><D:prop><D:resourcetype/><D:displayname/><C:supported-calendar-component-set/><D:current-user-privilege-set/></D:prop></D:propfind>`
)

// discover fills in what the server tells: its calendars, the owner's mail address, and whether it sends invitations.
func (c client) discover(ctx context.Context, from string) (s Settings, err error) {
	_, principal, err := c.principal(ctx, from)
	if err != nil {
		return s, err
	}
	at, list, err := c.query(ctx, "PROPFIND", principal, "0", askHome)
	if err != nil {
		return s, err
	}
	var homes []string
	for _, r := range list {
		p, _ := r.found()
		homes = append(homes, p.Homes...)
		for _, a := range p.Addresses {
			if mail, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(a)), "mailto:"); ok && s.Mail == "" {
				s.Mail = mail
			}
		}
	}
	if len(homes) == 0 {
		return s, notCalDAV(principal, "it names no folder of calendars")
	}
	for _, h := range homes {
		if err := c.home(ctx, at.link, h, &s); err != nil {
			return s, err
		}
	}
	slices.SortStableFunc(s.Calendars, func(a, b Calendar) int { return cmp.Compare(b2i(b.Write), b2i(a.Write)) })
	if len(s.Calendars) == 0 {
		return s, tools.Refuse(tools.NotFound, "make a calendar with the service first", "the account has no calendar for events")
	}
	s.Calendars = s.Calendars[:min(len(s.Calendars), maxCalendars)]
	return s, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// principal finds the resource of the user: at the given address, else at the well-known one (RFC 6764, section 5).
func (c client) principal(ctx context.Context, from string) (a answer, link string, err error) {
	u, err := url.Parse(from)
	if err != nil {
		return a, "", notCalDAV(from, "the address cannot be read")
	}
	tries := []string{from}
	if known := u.Scheme + "://" + u.Host + "/.well-known/caldav"; known != from {
		tries = append(tries, known)
	}
	if root := u.Scheme + "://" + u.Host + "/"; root != from { // for servers without a well-known address
		tries = append(tries, root)
	}
	var first error
	for _, try := range tries {
		a, list, err := c.query(ctx, "PROPFIND", try, "0", askPrincipal)
		if err != nil {
			first = cmp.Or(first, err)
			if a.status == http.StatusUnauthorized || a.status == 0 || errors.Is(err, context.Canceled) {
				return a, "", err // another address of the same server would say the same
			}
			continue
		}
		for _, r := range list {
			if p, ok := r.found(); ok && p.Principal != "" {
				link, err := resolve(a.link, p.Principal)
				if err != nil {
					return a, "", notCalDAV(try, "its principal leads to another host without encryption")
				}
				return a, link, nil
			}
		}
		first = cmp.Or(first, notCalDAV(try, "it does not say whose calendars it has"))
	}
	return a, "", first
}

// home adds the calendars of a folder.
func (c client) home(ctx context.Context, from, ref string, s *Settings) error {
	link, err := resolve(from, ref)
	if err != nil {
		return notCalDAV(from, "its calendars lead to another host without encryption")
	}
	a, list, err := c.query(ctx, "PROPFIND", link, "1", askCalendars)
	if err != nil {
		return err
	}
	s.Invites = s.Invites || strings.Contains(strings.Join(a.header.Values("DAV"), ","), "calendar-auto-schedule")
	for _, r := range list {
		p, ok := r.found()
		if !ok || p.Calendar == nil || !p.holdsEvents() {
			continue
		}
		at, err := resolve(a.link, r.Href)
		if err != nil {
			continue // it leads to another host without encryption
		}
		if !strings.HasSuffix(at, "/") {
			at += "/"
		}
		name := netguard.OneLine(p.Name, maxName)
		s.Calendars = append(s.Calendars, Calendar{URL: at, Name: cmp.Or(name, "calendar"), Write: p.writable()})
	}
	return nil
}

// holdsEvents is true for a calendar that takes events, or does not say what it takes.
func (p prop) holdsEvents() bool {
	for _, c := range p.Components {
		if strings.EqualFold(c.Name, "VEVENT") {
			return true
		}
	}
	return len(p.Components) == 0
}

// writable is true if the user may add events, or the server does not say it.
func (p prop) writable() bool {
	for _, one := range p.Privileges {
		for _, a := range one.Any {
			if slices.Contains([]string{"all", "write", "write-content", "bind"}, a.XMLName.Local) {
				return true
			}
		}
	}
	return len(p.Privileges) == 0
}
