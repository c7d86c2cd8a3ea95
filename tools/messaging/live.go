package messaging

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/fsguard"
	"hob/daemon/netguard"
	"hob/daemon/sys"
	"hob/tools"
)

// maxJudged is the size of a file, in bytes, up to which its content is judged.
const maxJudged = 1 << 20

// Texts that programs open as more than text: markup, scripts, calendars and cards, mails, documents, shortcuts with their keys, and cells that a
// spreadsheet computes.
var (
	markup   = sys.Regexp(`<[A-Za-z/!?]|(?i)^\s*(?:#!|%!PS|%PDF|\{\\rtf)|(?im)^\s*(?:BEGIN:|MIME-Version:|Content-Type:)`)
	section  = sys.Regexp(`(?m)^\s*\[[^\]\n]+\]\s*$`)
	setting  = sys.Regexp(`(?m)^\s*[\w\[\]-]+\s*=`)
	computed = sys.Regexp(`(?m)(?:^|[,;|\t])[\s"']*(?:[=@]|[+-][^\d\s.,;]|[+-]\S[^,;\t\n]*[(|!&])`)
)

// live says why the owner is asked before a file is sent: a turn wrote it after it had read foreign text, and opening it could run something or
// send data out. "" means that the file may go: it is plain text, a table or JSON by its name and by its content.
func (e enclosure) live(call tools.Call) string {
	byOthers := e.Foreign == "attachment" || e.Foreign == "outside the roots" || strings.HasPrefix(e.Foreign, "in the foreign root ")
	if call.Typed || e.Foreign == "" || byOthers {
		return ""
	}
	name := fsguard.SafeName(e.Path)
	end := strings.ToLower(path.Ext(name))
	content := strings.TrimPrefix(string(e.start), "\ufeff")
	why := ""
	switch {
	case !slices.Contains([]string{"", ".txt", ".text", ".log", ".csv", ".tsv", ".json"}, end):
		why = "programs do not open it as plain text"
	case e.Info.Size() > maxJudged || len(e.start) > maxJudged:
		why = "it is too large to be checked"
	case !utf8.ValidString(content) || strings.ContainsFunc(content, func(c rune) bool { return netguard.Invisible(c) && !strings.ContainsRune("\n\r\t", c) }):
		why = "it is not plain text"
	case markup().MatchString(content), section().MatchString(content) && setting().MatchString(content):
		why = "it is more than plain text"
	case end == ".json" && !json.Valid([]byte(content)):
		why = "it is not JSON"
	case (end == ".csv" || end == ".tsv") && computed().MatchString(content):
		why = "its cells compute something"
	case netguard.DefangBut(content, mailOnly) != content:
		why = "there are web addresses in it"
	default:
		return ""
	}
	return name + " was written by a turn that had read foreign text, and " + why
}

// mailOnly reports whether an address is only a mail address.
func mailOnly(address string) bool {
	return strings.Contains(address, "@") && !strings.ContainsAny(address, ":/?#")
}
