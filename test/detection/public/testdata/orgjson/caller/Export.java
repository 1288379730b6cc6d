package com.acme.shop;

import org.json.JSONArray;
import org.json.JSONObject;

/** Export writes orders as JSON. */
public class Export {
    static JSONArray orders(int from) {
        JSONArray list = new JSONArray();
        for (int i = from; i < from + 200; i++) {
            list.put(new JSONObject().put("id", i).put("name", "n" + i).put("price", i * 1.25).put("hot", i % 2 == 0));
        }
        return list;
    }

    static String write(JSONArray list) {
        return list.toString();
    }

    public static void main(String[] args) {
        long n = 0;
        for (int i = 0; i < 5000; i++) {
            n += write(orders(i)).length();
        }
        System.out.println(n);
    }
}
