package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// Text is what the helper makes of a file, without a process of its own.
func Text(kind Kind, r io.ReaderAt, size int64, args ...string) (o Opening, text string, err error) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := readers()[kind].read(job{r, size, args, w}); err != nil {
		return o, "", err
	}
	if err := w.Flush(); err != nil {
		return o, "", err
	}
	line, err := b.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	return o, b.String(), err
}

// Word is the text of a Word document.
func WordText(r io.ReaderAt, size int64) (string, error) {
	_, text, err := Text(Word, r, size)
	return text, err
}

// NotebookText is that of a notebook, and how many cells it has.
func NotebookText(r io.ReaderAt, size int64) (string, int, error) {
	o, text, err := Text(Notebook, r, size)
	return text, o.Cells, err
}
