package restapi

import (
	"context"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/dict"
	"eruptcloud/app/web"
)

// Dicts are the dictionaries.
type Dicts interface {
	List(ctx context.Context, f dict.Filter) ([]dict.Dict, int, error)
	// Items returns the items of a dictionary in their order. fault.NotFound if there is no such dictionary.
	Items(ctx context.Context, code, query string) ([]dict.Item, error)
}

type dictionary struct {
	Code   string  `json:"code"`
	Name   string  `json:"name"`
	Remark *string `json:"remark"`
	Items  int     `json:"items"` // how many
	Update *string `json:"updated"`
}

type dictionaryItem struct {
	Code   string  `json:"code"`
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Sort   *int    `json:"sort"`
	Remark *string `json:"remark"`
}

func (a *api) listDicts(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	found, total, err := a.o.Dicts.List(c.Request.Context(), dict.Filter{Page: page, PageSize: size})
	if err != nil {
		return err
	}
	items := make([]dictionary, 0, len(found))
	for _, d := range found {
		items = append(items, dictionary{Code: d.Code, Name: d.Name, Remark: orNull(d.Remark), Items: d.Items, Update: when(d.Updated)})
	}
	return answerList(c, items, total)
}

func (a *api) listDictItems(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	all, err := a.o.Dicts.Items(c.Request.Context(), web.Param(c, "code"), "")
	if err != nil {
		return err
	}
	items := []dictionaryItem{}
	for _, i := range cut(all, page, size) {
		items = append(items, dictionaryItem{Code: i.Code, Name: i.Name, Value: orNull(i.Value), Sort: i.Sort, Remark: orNull(i.Remark)})
	}
	return answerList(c, items, len(all))
}
