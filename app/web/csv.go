package web

import (
	"bufio"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/views"
)

// CSV answers with a list as a file for spreadsheets and scripts (U81, S94), called name and the time, with the extension
// .csv: UTF-8 with a byte order mark, lines and quotes as in RFC 4180. Rows are pulled while they are sent, so a list of any
// length takes little memory. Cells are strings, numbers, bools, nil (empty) and times, which are written in ISO 8601 with
// the offset of the viewer's zone; a zero time is empty. Texts that a spreadsheet would calculate begin with an apostrophe;
// numbers, also those in strings, stay as they are.
//
// An error of rows before the first bytes went out is answered as usual; later it breaks the connection, so that half a
// file never looks whole.
func CSV(c *gin.Context, name string, header []string, rows iter.Seq2[[]any, error]) error {
	frame := views.FrameOf(c.Request.Context())
	now := frame.Now
	if now.IsZero() {
		now = time.Now()
	}
	h := c.Writer.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", Attachment(name+"-"+now.UTC().Format("20060102T150405Z")+".csv"))
	h.Set("Cache-Control", "no-store")
	if c.Request.Method == http.MethodHead {
		c.Writer.WriteHeaderNow()
		return nil
	}
	w := csvWriter{b: bufio.NewWriterSize(c.Writer, 32<<10), zone: frame.Zone}
	if w.zone == nil {
		w.zone = time.UTC
	}
	_, _ = w.b.WriteString("\ufeff") // the writer keeps its first error until Flush
	titles := make([]any, len(header))
	for i, t := range header {
		titles[i] = t
	}
	w.row(titles)
	for cells, err := range rows {
		if err != nil {
			return fmt.Errorf("export %s: %w", name, err)
		}
		w.row(cells)
		if w.b.Buffered() == 0 && c.Request.Context().Err() != nil {
			break // nobody reads on; Flush knows
		}
	}
	if err := w.b.Flush(); err != nil {
		return fmt.Errorf("export %s: %w", name, err)
	}
	return c.Request.Context().Err()
}

type csvWriter struct {
	b    *bufio.Writer
	zone *time.Location
}

func (w csvWriter) row(cells []any) {
	for i, cell := range cells {
		if i > 0 {
			_ = w.b.WriteByte(',')
		}
		_, _ = w.b.WriteString(quoteCell(w.text(cell)))
	}
	_, _ = w.b.WriteString("\r\n")
}

// text is a cell before its quotes.
func (w csvWriter) text(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case string:
		return tame(v)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.In(w.zone).Truncate(time.Millisecond).Format(time.RFC3339Nano)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v)
	}
	return tame(fmt.Sprint(cell))
}

// tame keeps spreadsheets from calculating a text. The wide forms count in spreadsheets of East Asian languages.
func tame(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
	if s == "" || isNumber(s) || strings.IndexAny(s, "=+-@\t\r\n＝＋－＠") != 0 {
		return s
	}
	return "'" + s
}

// isNumber reports whether s is a decimal number as programs write it. "+1" is none: a spreadsheet would drop its sign.
func isNumber(s string) bool {
	whole, part, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return digits(whole) && (!dot || digits(part))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// quoteCell puts quotes where RFC 4180 asks for them and where a reader would cut blanks. Line breaks stay as they are.
func quoteCell(s string) string {
	if !strings.ContainsAny(s, "\",\r\n;\t") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
