package views

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DictsPath lists the dictionaries; one of them is DictPath.
const DictsPath = "/console/dicts"

// DictPath returns the address of a dictionary.
func DictPath(code string) string { return itemPath(DictsPath, code) }

// DictItemPath returns the address of an item of a dictionary, or of the form for a new one if id is zero.
func DictItemPath(dict string, id int64) string {
	if id == 0 {
		return ItemAction(DictsPath, dict, "items", "new")
	}
	return ItemAction(DictsPath, dict, "items", strconv.FormatInt(id, 10))
}

// DictQuery is the filter of the list of dictionaries as it stands in the address bar.
type DictQuery struct {
	Text, Order string
	Page, Size  int
}

// DictOrders are what the list can be sorted by; the first is the default.
var DictOrders = []string{"code", "name", "updated"}

// ParseDictQuery reads the filter; what it does not understand it leaves out.
func ParseDictQuery(v url.Values) DictQuery {
	return DictQuery{Text: strings.TrimSpace(v.Get("q")), Order: oneOf(v.Get("order"), DictOrders), Page: whole(v.Get("page")), Size: whole(v.Get("size"))}
}

// Path returns the address of a list with this filter.
func (q DictQuery) Path(list string) string {
	return withQuery(list, "q", q.Text, "order", q.Order, "page", wholeText(q.Page, 1), "size", wholeText(q.Size, 0))
}

// At returns the same list at another page; size 0 keeps it.
func (q DictQuery) At(page, size int) DictQuery {
	q.Page = page
	if size > 0 {
		q.Size = size
	}
	return q
}

// oneOf returns an order that is known and not the usual one, else nothing.
func oneOf(order string, orders []string) string {
	for _, o := range orders[1:] {
		if o == order {
			return order
		}
	}
	return ""
}

// orderPath is the address of a list in another order, on its first page.
func orderPath(list, order string, orders []string, more ...string) string {
	return withQuery(list, append([]string{"order", oneOf(order, orders)}, more...)...)
}

// DictList is the page of dictionaries.
type DictList struct {
	Filter DictQuery
	Rows   []DictRow
	Pager  Pager
	Said   string
}

// DictRow is one dictionary.
type DictRow struct {
	Code, Name, Remark, By string
	Items                  int
	Updated                time.Time
}

// DictForm creates or changes a dictionary and lists its items.
type DictForm struct {
	Fields
	New                bool
	Code, Name, Remark string
	Count              int // items in all
	Query              string
	Items              []DictItemRow
	Hidden             int // items that fit and are not shown
	SeesItems          bool
	Import             Fields // what is wrong with an import
	Text               string // of a refused import
	Imported           *DictImported
	Said               string
}

// DictImported says what an import did.
type DictImported struct{ Added, Changed, Same int }

// DictItemRow is one item.
type DictItemRow struct {
	ID                        int64
	Code, Name, Value, Remark string
	Sort                      string
}

// DictItemForm creates or changes an item.
type DictItemForm struct {
	Fields
	New                       bool
	Dict, DictName            string
	ID                        int64
	Code, Name, Value, Remark string
	Sort                      string
	Said                      string
}

func (m DictForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "dicts.new")
	}
	return m.Name
}

func (m DictForm) mayChange(ctx context.Context) bool { return mayKeep(ctx, "EruptDict", m.New) }

func (m DictItemForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "items.new")
	}
	return m.Name
}

func (m DictItemForm) mayChange(ctx context.Context) bool {
	return mayKeep(ctx, "EruptDictItem", m.New)
}

func (m DictItemForm) path() string {
	if m.New {
		return ItemAction(DictsPath, m.Dict, "items")
	}
	return DictItemPath(m.Dict, m.ID)
}
