package linkedin

import (
	"bytes"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/daemon/netguard"
	"hob/daemon/sys"
	"hob/daemon/text"
)

// Job is a job in a list.
type Job struct {
	ID       string `json:"id" jsonschema:"for linkedin_job_detail"`
	Title    string `json:"title" jsonschema:"title"`
	Company  string `json:"company,omitempty" jsonschema:"who offers it"`
	Location string `json:"location,omitempty" jsonschema:"where"`
	Posted   string `json:"posted,omitempty" jsonschema:"day on which it was listed"`
	URL      string `json:"url" jsonschema:"page for people"`
}

// Criterion is a fact about a job in LinkedIn's words, such as "Seniority level".
type Criterion struct {
	Name  string `json:"name" jsonschema:"what"`
	Value string `json:"value" jsonschema:"its value"`
}

// Detail is a job.
type Detail struct {
	Job
	Applicants  string      `json:"applicants,omitempty" jsonschema:"how many have applied"`
	Salary      string      `json:"salary,omitempty" jsonschema:"pay"`
	Closed      bool        `json:"closed,omitempty" jsonschema:"it takes no more applications"`
	Criteria    []Criterion `json:"criteria,omitempty" jsonschema:"level, type, function, industries"`
	Description string      `json:"description" jsonschema:"text of the offer"`
}

// Limits of what is kept of a page.
const (
	maxPage        = 2 << 20 // bytes
	maxText        = 200     // characters of a field
	maxDescription = 12_000  // characters
	maxCriteria    = 12
	maxCards       = 100
)

var numberForm = sys.Regexp(`^[0-9]{5,20}$`)

// parse reads a page.
func parse(body []byte) (*html.Node, error) {
	if len(body) > maxPage {
		return nil, changed("a page has more than 2 MB")
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, changed("a page is not HTML")
	}
	return doc, nil
}

// readSearch reads a page of a search. It contains a list of cards: div.base-search-card or a.base-search-card, with data-entity-urn.
// faulty counts the cards that cannot be read. A page after the last job is empty.
func readSearch(body []byte) (jobs []Job, faulty int, err error) {
	if empty(body) {
		return nil, 0, nil
	}
	doc, err := parse(body)
	if err != nil {
		return nil, 0, err
	}
	for n := range doc.Descendants() {
		if !hasClass(n, "base-search-card") && !hasClass(n, "job-search-card") {
			continue
		}
		if j, ok := card(n); ok {
			jobs = append(jobs, j)
		} else {
			faulty++
		}
		if len(jobs)+faulty == maxCards {
			break
		}
	}
	if len(jobs) == 0 {
		return nil, 0, changed("the list of jobs has no card that hob knows")
	}
	return jobs, faulty, nil
}

// empty reports whether a page has no content: no text, and no elements but the frame.
func empty(body []byte) bool {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return true
		case html.TextToken:
			if len(bytes.TrimSpace(z.Text())) > 0 {
				return false
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			switch atom.Lookup(name) {
			case atom.Html, atom.Head, atom.Body, atom.Ul:
			default:
				return false
			}
		}
	}
}

// card reads one job of a list.
func card(n *html.Node) (j Job, ok bool) {
	id, found := strings.CutPrefix(attr(n, "data-entity-urn"), "urn:li:jobPosting:")
	if !found || !numberForm().MatchString(id) {
		return j, false
	}
	j = Job{ID: id, Title: field(n, "base-search-card__title"), Company: field(n, "base-search-card__subtitle"), Location: field(n, "job-search-card__location"), URL: jobLink(id)}
	for c := range n.Descendants() {
		if c.DataAtom == atom.Time && j.Posted == "" {
			j.Posted = netguard.OneLine(attr(c, "datetime"), 40)
		}
	}
	return j, j.Title != ""
}

// jobLink returns the address of a job's page for people. It is made from the number alone: the links of a page contain tracking
// parameters, and could lead elsewhere.
func jobLink(id string) string { return home + "/jobs/view/" + id + "/" }

// readDetail reads the page of a job.
func readDetail(body []byte, id string) (d Detail, err error) {
	doc, err := parse(body)
	if err != nil {
		return d, err
	}
	first := func(classes ...string) string {
		for _, c := range classes {
			if s := field(doc, c); s != "" {
				return s
			}
		}
		return ""
	}
	d.Job = Job{
		ID: id, URL: jobLink(id), Title: first("top-card-layout__title", "topcard__title"), Company: first("topcard__org-name-link", "topcard__flavor"),
		Location: field(doc, "topcard__flavor--bullet"), Posted: field(doc, "posted-time-ago__text"),
	}
	d.Applicants, d.Salary = field(doc, "num-applicants__caption"), first("compensation__salary", "salary")
	for n := range doc.Descendants() {
		switch {
		case hasClass(n, "closed-job"):
			d.Closed = true
		case hasClass(n, "description__job-criteria-item") && len(d.Criteria) < maxCriteria:
			if c := (Criterion{field(n, "description__job-criteria-subheader"), field(n, "description__job-criteria-text")}); c.Name != "" && c.Value != "" {
				d.Criteria = append(d.Criteria, c)
			}
		case d.Description == "" && (hasClass(n, "show-more-less-html__markup") || hasClass(n, "description__text")):
			d.Description = blocks(n)
		}
	}
	switch {
	case d.Title == "":
		return d, changed("the page of a job has no title that hob knows")
	case d.Description == "":
		return d, changed("the page of a job has no description that hob knows")
	}
	return d, nil
}

// field returns the text of the first element with a class, in one line.
func field(in *html.Node, class string) string {
	for n := range in.Descendants() {
		if hasClass(n, class) {
			return netguard.OneLine(plain(n), maxText)
		}
	}
	return ""
}

// plain returns the text inside an element.
func plain(in *html.Node) string {
	var b strings.Builder
	for n := range in.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// blocks returns the text inside an element, with a line for each paragraph and item.
func blocks(in *html.Node) string {
	var b strings.Builder
	write(&b, in)
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = netguard.OneLine(line, maxDescription); line != "" && line != "-" {
			lines = append(lines, line)
		}
	}
	return text.Shorten(strings.Join(lines, "\n"), maxDescription)
}

// write writes the text of an element, with a line break at the end of each block. The parser limits the nesting of elements.
func write(b *strings.Builder, in *html.Node) {
	for n := range in.ChildNodes() {
		if n.Type == html.TextNode {
			b.WriteString(strings.NewReplacer("\n", " ", "\r", " ").Replace(n.Data))
			continue
		}
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Button:
		case atom.Li:
			b.WriteString("\n- ")
			write(b, n)
			b.WriteByte('\n')
		case atom.Br, atom.P, atom.Div, atom.Section, atom.Ul, atom.Ol, atom.H2, atom.H3:
			b.WriteByte('\n')
			write(b, n)
			b.WriteByte('\n')
		default:
			write(b, n)
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attr(n, "class")), class)
}

// number returns the number of a job from an id or from an address of LinkedIn.
func number(s string) string {
	s = strings.TrimSpace(s)
	if u, err := url.Parse(s); err == nil && (u.Host == "linkedin.com" || strings.HasSuffix(u.Host, ".linkedin.com")) {
		if current := u.Query().Get("currentJobId"); current != "" {
			s = current
		} else {
			s = path.Base(u.Path)
			s = s[strings.LastIndex(s, "-")+1:]
		}
	}
	if !numberForm().MatchString(s) {
		return ""
	}
	return s
}
