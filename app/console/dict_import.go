package console

import (
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/dict"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// itemColumns are the columns of an export of items, by the key of their title.
var itemColumns = []string{"groups.code", "groups.name", "items.value", "roles.sort", "node.remark"}

// exportItems handles GET /console/dicts/:dict/items.csv, which importItems reads again.
func (p *pages) exportItems(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "dict")
	items, err := p.Dicts.Items(ctx, code, "")
	if err != nil {
		return err
	}
	rows := func(yield func([]any, error) bool) {
		for _, i := range items {
			if !yield([]any{i.Code, i.Name, i.Value, sortText(i.Sort), i.Remark}, nil) {
				return
			}
		}
	}
	return web.CSV(c, "dictionary-"+code, titles(ctx, itemColumns...), iter.Seq2[[]any, error](rows))
}

// importItems handles POST /console/dicts/:dict/import: a file or a text.
func (p *pages) importItems(c *gin.Context) error {
	ctx, code := c.Request.Context(), web.Param(c, "dict")
	d, err := p.Dicts.ByCode(ctx, code)
	if err != nil {
		return err
	}
	raw, err := importText(c)
	var wishes []dict.ItemWish
	if err == nil {
		wishes, err = itemWishes(raw)
	}
	var done dict.Imported
	if err == nil {
		done, err = p.Dicts.Import(ctx, code, wishes, viewer(c).Account)
	}
	facts := map[string]any{"rows": len(wishes), "added": done.Added, "changed": done.Changed, "same": done.Same}
	if err := p.recordChange(c, "dict.import", code, nil, facts, err); err != nil {
		fields, err := formFault(c, err)
		if err != nil {
			return err
		}
		return p.renderDict(c, views.DictForm{Code: d.Code, Name: d.Name, Remark: d.Remark, Import: fields, Text: c.PostForm("text")})
	}
	return web.Redirect(c, views.DictPath(code), "added", strconv.Itoa(done.Added), "changed", strconv.Itoa(done.Changed), "same", strconv.Itoa(done.Same))
}

// importedOf is what the address says about the import before it.
func importedOf(c *gin.Context) *views.DictImported {
	var n [3]int
	for i, name := range []string{"added", "changed", "same"} {
		var err error
		if n[i], err = strconv.Atoi(c.Query(name)); err != nil || n[i] < 0 || n[i] > dict.MostItems {
			return nil
		}
	}
	return &views.DictImported{Added: n[0], Changed: n[1], Same: n[2]}
}

func wrongFile(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Field("file", format, args...)
}

// importText is what was sent: the file, or else the text.
func importText(c *gin.Context) (string, error) {
	if form := c.Request.MultipartForm; form != nil {
		defer func() { _ = form.RemoveAll() }()
		for _, sent := range form.File["file"] {
			if sent.Size == 0 {
				continue
			}
			f, err := sent.Open()
			if err != nil {
				return "", err
			}
			raw, err := io.ReadAll(f) // the whole form was bounded before
			if err = errors.Join(err, f.Close()); err != nil {
				return "", err
			}
			if !isText(string(raw)) {
				return "", wrongFile("the file is no text in UTF-8")
			}
			return string(raw), nil
		}
	}
	return c.PostForm("text"), nil
}

// itemWishes reads CSV whose first row names the columns, in any order and either language; only the code is needed.
func itemWishes(raw string) ([]dict.ItemWish, error) {
	raw = strings.TrimPrefix(raw, "\ufeff")
	if strings.TrimSpace(raw) == "" {
		return nil, wrongFile("choose a file, or paste its lines")
	}
	r := csv.NewReader(strings.NewReader(raw))
	r.FieldsPerRecord = -1
	if head, _, _ := strings.Cut(raw, "\n"); !strings.Contains(head, ",") {
		switch {
		case strings.Contains(head, "\t"):
			r.Comma = '\t'
		case strings.Contains(head, ";"):
			r.Comma = ';'
		}
	}
	head, err := r.Read()
	if err != nil {
		return nil, wrongFile("the lines are no CSV")
	}
	at := columnsOf(head)
	if at[0] < 0 {
		return nil, wrongFile("the first row must name the columns; one of them is the code")
	}
	var out []dict.ItemWish
	for n := 1; ; n++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, wrongFile("row %d is no CSV", n)
		}
		cell := func(column int) string {
			if at[column] < 0 || at[column] >= len(row) {
				return ""
			}
			return strings.TrimSpace(untamed(row[at[column]]))
		}
		if strings.TrimSpace(strings.Join(row, "")) == "" {
			continue
		}
		sort, err := optionalSort(cell(3))
		if err != nil {
			return nil, wrongFile("row %d: the order must be a whole number", n)
		}
		if out = append(out, dict.ItemWish{Code: cell(0), Name: cell(1), Value: cell(2), Sort: sort, Remark: cell(4)}); len(out) > dict.MostItems {
			return nil, wrongFile("a dictionary takes %d items at most", dict.MostItems)
		}
	}
}

// columnsOf says where each of itemColumns stands; below zero: nowhere.
func columnsOf(head []string) [5]int {
	out := [5]int{-1, -1, -1, -1, -1}
	names := [5][]string{{"code"}, {"name"}, {"value", "val"}, {"sort", "order"}, {"remark"}}
	for i, title := range head {
		title = strings.ToLower(strings.TrimSpace(title))
		for column, key := range itemColumns {
			known := append(names[column], strings.ToLower(views.Text("en", key)), strings.ToLower(views.Text("zh", key)))
			for _, name := range known {
				if out[column] < 0 && name == title {
					out[column] = i
				}
			}
		}
	}
	return out
}

// untamed takes away the mark that an export puts before what a spreadsheet would calculate.
func untamed(s string) string {
	if rest, marked := strings.CutPrefix(s, "'"); marked && strings.IndexAny(rest, "=+-@\t\r\n＝＋－＠") == 0 {
		return rest
	}
	return s
}
