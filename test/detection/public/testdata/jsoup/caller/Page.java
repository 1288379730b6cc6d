package com.example.shop;

import com.example.bench.Main;
import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/** Reads the prices of a page. */
public class Page implements Main.Op {
    private final String html;

    public Page() {
        StringBuilder b = new StringBuilder("<html><body><table class='big orders'>");
        for (int i = 0; i < 120; i++) {
            b.append("<tr><td>").append(i).append("</td><td class='price x'>").append(i)
                .append(".50 &euro;</td><td>a note with <b>bold</b> text</td></tr>");
        }
        html = b.append("</table></body></html>").toString();
    }

    int readPrices() {
        Document d = Jsoup.parse(html);
        int sum = 0;
        for (Element e : d.select("table.orders tr > td.price")) sum += e.text().length();
        return sum;
    }

    public Object op() {
        return readPrices();
    }
}
