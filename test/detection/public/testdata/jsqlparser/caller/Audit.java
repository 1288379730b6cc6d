package com.acme.shop;

import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.statement.Statement;

/** Audit reads logged queries and counts what they ask for. */
public class Audit {
    static String query(int n) {
        return "SELECT a.id, b.name, sum(c.total) AS t FROM orders a INNER JOIN customers b ON a.cid = b.id LEFT JOIN lines c ON c.oid = a.id "
            + "WHERE a.day >= '2024-01-01' AND (b.kind = 'x' OR b.kind = 'y') AND a.id IN (1, 2, " + n + ") GROUP BY a.id, b.name ORDER BY t DESC";
    }

    static Statement read(String sql) throws Exception {
        return CCJSqlParserUtil.parse(sql);
    }

    static int words(Statement s) {
        return s.toString().split(" ").length;
    }

    public static void main(String[] args) throws Exception {
        int n = 0;
        for (int i = 0; i < 4000; i++) {
            n += words(read(query(i)));
        }
        System.out.println(n);
    }
}
